/** `npm run chaos -- [--seed N] [--seconds 60] [--ledger RUNS] [--backplane redis|postgres]`: see ops/guides/chaos.md. */
import { parseArgs } from 'node:util';
import { ledgerOfWorld } from './ledger-of-world.ts';
import { runChaos } from './run.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    backplane: { type: 'string' },
    ledger: { type: 'string' },
  },
});
const { backplane = 'both' } = values;
if (!['both', 'redis', 'postgres'].includes(backplane)) throw new Error('--backplane takes redis or postgres');
const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
const seconds = Number(values.seconds);
if (!Number.isSafeInteger(seed) || !(seconds > 0)) throw new Error('--seed and --seconds take numbers');

for (const kind of ['redis', 'postgres'] as const) {
  if (backplane !== 'both' && backplane !== kind) continue;
  if (values.ledger !== undefined) {
    const { differences, ...figures } = await ledgerOfWorld(kind, Number(values.ledger), console.log);
    console.log(JSON.stringify({ backplane: kind, ...figures }, null, 2));
    console.log(differences.length === 0 ? `The ledger on ${kind} balances.` : differences.join('\n'));
    if (differences.length > 0) process.exitCode = 1;
    continue;
  }
  // Runs that had to wait during the faults take a part of their time to catch up, the more so on a slow machine.
  const timeoutMs = Math.max(120_000, seconds * 400);
  const { differences } = await runChaos({ seed, seconds, backplane: kind, timeoutMs, say: console.log });
  if (differences.length === 0) console.log(`The end state on ${kind} is as the model says.`);
  else {
    console.log(`${differences.length} differences on ${kind}:\n  ${differences.join('\n  ')}`);
    console.log(`Again: npm run chaos -- --seed ${seed} --seconds ${seconds} --backplane ${kind}`);
    process.exitCode = 1;
  }
}
