import { expect, test } from 'vitest';
import { redisURL } from '#test/support/backplane.ts';
import { runChaos } from '../chaos/run.ts';

test('under random faults every acknowledged run ends, once, with the state that the model says', async () => {
  const seed = Math.floor(Math.random() * 1_000_000);
  const backplane = redisURL ? 'redis' : 'postgres';
  const lines: string[] = [];

  const { differences, runs } = await runChaos({
    seed,
    seconds: 30,
    backplane,
    patienceMs: 90_000,
    say: (line) => void lines.push(line),
  });

  expect(
    differences,
    `npm run chaos -- --seed ${seed} --seconds 30 --backplane ${backplane}\n${lines.join('\n')}`,
  ).toEqual([]);
  expect(runs).toBeGreaterThan(50);
}, 240_000);
