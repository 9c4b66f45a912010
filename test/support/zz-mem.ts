import { execSync } from 'node:child_process';
import { createLogger } from '#shared/core/logger.ts';
import { createSandbox } from '#workers/sandbox/pool.ts';

const log = createLogger({ level: 'silent' });
const codes: [string, string, number][] = [
  ['objects', 'const a = []; for (;;) a.push({ x: 1, y: [a.length] })', 32],
  ['arrays', 'const a = []; for (;;) a.push(new Array(1000).fill(a.length))', 32],
  ['huge array', 'return new Array(1e7).fill(1.5).length', 32],
  ['huge text', 'return "x".repeat(2 ** 27).normalize("NFD").length', 32],
  ['huge text16', 'return "x".repeat(2 ** 27).normalize("NFD").length', 16],
  ['pieces', 'return "x".repeat(2 ** 24).split("").length', 32],
  ['pieces16', 'return "x".repeat(2 ** 24).split("").length', 16],
  ['pieces25', 'return "x".repeat(2 ** 25).split("").length', 16],
  ['intl', 'const a = []; for (;;) a.push(new Intl.Collator("zh"), new Intl.NumberFormat("de"))', 32],
  ['intl16', 'const a = []; for (;;) a.push(new Intl.Collator("zh"), new Intl.NumberFormat("de"))', 16],
  ['intl8x', 'const a = []; for (;;) a.push(new Intl.Collator("zh"))', 16],
  ['intl dt', 'const a = []; for (;;) a.push(new Intl.DateTimeFormat("zh"))', 16],
  ['segmenter', 'const a = []; for (;;) a.push(new Intl.Segmenter("zh").segment("x".repeat(1000)))', 16],
  ['dtf', 'const a = []; for (;;) a.push(new Intl.DurationFormat("de"))', 16],
  ['none', 'return 1', 32],
];

import { readFileSync } from 'node:fs';

const kids = () => {
  const f = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
  return (Number(f[13]) + Number(f[14])) * 10;
};
for (const [name, code, memoryMB] of codes) {
  const before = kids();
  const t = performance.now();
  const sandbox = createSandbox({ processes: 1, maxOutputBytes: 1e6 }, log);
  const r = await sandbox
    .run({ tenantID: 't', code, args: {}, timeoutMs: 50_000, memoryMB }, new AbortController().signal)
    .catch((e) => e.message);
  await sandbox[Symbol.asyncDispose]();
  await new Promise((r) => setTimeout(r, 50));
  console.log(name, memoryMB, r, Math.round(performance.now() - t), 'ms', kids() - before, 'cpu ms');
}
