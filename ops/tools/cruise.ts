/** Runs dependency-cruiser, and fails when it has read fewer modules than there are source files. */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';

const folders = ['api', 'workers', 'shared', 'ops', 'test'];
const sources = globSync(folders.map((folder) => `${folder}/**/*.{ts,tsx}`)).length;

const out = execFileSync('depcruise', ['--config', 'ops/tools/dependency-cruiser.cjs', '-T', 'json', ...folders], {
  encoding: 'utf8',
  maxBuffer: 256 * 1024 * 1024,
  stdio: ['ignore', 'pipe', 'ignore'],
}).toString();
const { summary } = JSON.parse(out) as {
  summary: { totalCruised: number; error: number; violations: { from: string; to: string; rule: { name: string } }[] };
};

for (const { rule, from, to } of summary.violations) console.error(`${rule.name}: ${from} → ${to}`);
if (summary.totalCruised < sources) {
  console.error(`dependency-cruiser looked at ${summary.totalCruised} modules, but there are ${sources} source files`);
  process.exitCode = 1;
} else if (summary.error > 0) process.exitCode = 1;
else console.log(`dependency-cruiser: ${summary.totalCruised} modules, no violations`);
