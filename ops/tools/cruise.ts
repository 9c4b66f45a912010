/** Runs dependency-cruiser, and fails when it has read fewer modules than there are source files. */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { createRequire } from 'node:module';

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

// A file that imports nothing, and that nothing imports, is in no rule of the graph.
const layers: Record<string, string[]> = createRequire(import.meta.url)('./layers.cjs');
const misplaced = Object.entries(layers).flatMap(([tier, allowed]) =>
  globSync(`${tier}/**/*.ts`).filter((file) => {
    const [, folder] = file.split(/[/\\]/);
    return folder !== 'main.ts' && !allowed.includes(folder ?? '');
  }),
);

for (const file of misplaced) console.error(`${file} is in no folder of the order in ops/tools/layers.cjs`);
for (const { rule, from, to } of summary.violations) console.error(`${rule.name}: ${from} → ${to}`);
if (summary.totalCruised < sources) {
  console.error(`dependency-cruiser looked at ${summary.totalCruised} modules, but there are ${sources} source files`);
  process.exitCode = 1;
} else if (summary.error > 0 || misplaced.length > 0) process.exitCode = 1;
else console.log(`dependency-cruiser: ${summary.totalCruised} modules, no violations`);
