import { expect, test } from 'vitest';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import { MAX_NODE_LOG, MAX_RUN_LOG } from '#shared/workflow/run-log.ts';
import { aClaimedRun } from '#test/support/claimed-run.ts';
import { noops } from '#test/support/graphs.ts';
import { replayAll } from '#workers/engine/restore/restore.ts';
import { RunLogs } from '#workers/engine/state/run-logs.ts';
import { maskLine } from '#workers/engine/values/node-variables.ts';

const activationOf = (id: string) => ({ node: { id }, path: [] }) as unknown as Activation;
const none = { lines: 0, bytes: 0 };
const lines = (count: number, message = 'm') => ({
  lines: Array.from({ length: count }, () => ({ level: 'info' as const, at: '', message })),
  cut: none,
});

test('what an attempt prints is taken once, with what its process has cut', () => {
  const logs = new RunLogs();
  const activation = activationOf('a');
  logs.print(activation, { ...lines(1), cut: { lines: 2, bytes: 9 } });
  logs.print(activation, { ...lines(2), cut: { lines: 1, bytes: 1 } });

  expect(logs.take(activation)).toMatchObject({ size: { lines: 3, bytes: 3 }, cut: { lines: 3, bytes: 10 } });
  expect(logs.take(activation)).toBeUndefined();
});

test('counts no more than the columns hold of what an endless loop prints', () => {
  const logs = new RunLogs();
  const activation = activationOf('a');
  logs.print(activation, { lines: [], cut: { lines: 3_000_000_000, bytes: 10_000_000_000 } });

  expect(logs.take(activation)?.cut).toEqual({ lines: 2 ** 31 - 1, bytes: 2 ** 31 - 1 });
});

test('a node has a limit of its own, so that it cannot take the room of the others', () => {
  const logs = new RunLogs();
  const [a, b] = [activationOf('a'), activationOf('b')];
  logs.print(a, lines(MAX_NODE_LOG.lines + 3));
  logs.print(b, lines(1));
  expect(logs.take(a)).toMatchObject({ size: { lines: MAX_NODE_LOG.lines }, cut: { lines: 3, bytes: 3 } });
  expect(logs.take(b)).toMatchObject({ size: { lines: 1 }, cut: none });
});

test('lines and bytes of a run are counted over all nodes, also those of earlier holders', () => {
  const before = new RunLogs();
  for (const id of ['a', 'b', 'c', 'd'])
    before.count(id, { lines: MAX_RUN_LOG.lines / 4, bytes: MAX_RUN_LOG.bytes / 4 - 1 });
  const logs = new RunLogs();
  for (const [id, count, bytes] of before.snapshot()) logs.count(id, { lines: count - 1, bytes });
  // A node that has printed nothing yet, and has its own room.
  const activation = activationOf('e');

  logs.print(activation, lines(1, 'five!'));
  expect(logs.take(activation)).toMatchObject({ size: none, cut: { lines: 1, bytes: 5 } });
  logs.print(activation, lines(5, ''));
  expect(logs.take(activation)).toMatchObject({ size: { lines: 4, bytes: 0 }, cut: { lines: 1, bytes: 0 } });
});

test('a run that goes on counts what its nodes have written before, without results that were taken over', () => {
  const run = aClaimedRun(noops(2));
  const event = { frame: null, attempt: 1, status: 'SUCCESS', started: null };
  const written = (lines: number) => ({ output: {}, log: { lines, bytes: lines * 10 } });

  replayAll(run, {
    checkpoint: null,
    seq: 0,
    events: [
      { ...event, seq: 1, node_id: 'start', exit: 'output', payload: { ...written(7), reusedFrom: 'another' } },
      { ...event, seq: 2, node_id: 'n1', exit: 'yes', payload: written(3) },
    ],
  });

  expect(run.state.logs.snapshot()).toEqual([['n1', 3, 30]]);
});

test('the secrets of a node are masked in its lines, in the message and in the data', () => {
  const line = { level: 'info' as const, at: '', message: 'sent s3cret-key', data: { headers: ['Bearer s3cret-key'] } };

  const masked = maskLine(line, ['s3cret-key']);

  expect(JSON.stringify(masked)).not.toContain('s3cret-key');
  expect(masked).toMatchObject({
    message: expect.stringMatching(/^sent /),
    data: { headers: [expect.stringMatching(/^Bearer /)] },
  });
});
