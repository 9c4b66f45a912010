/** An owned run, without a database. */
import { expect, test } from 'vitest';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import { aClaimedRun } from '#test/support/claimed-run.ts';
import { noops } from '#test/support/graphs.ts';
import { replayAll } from '#workers/engine/restore/restore.ts';
import type { Run } from '#workers/engine/state/run.ts';

function activationOf(run: Run, nodeID: string): Activation {
  return run.state.find(nodeID, '0') ?? expect.fail(`there is no node ${nodeID}`);
}

test('a wait that ends in the commit in which it began leaves no row', () => {
  const run = aClaimedRun(noops(2));
  const [first, second] = [activationOf(run, 'n1'), activationOf(run, 'n2')];
  const wait = { kind: 'time', purpose: 'park', ms: 60_000 } as const;
  for (const activation of [first, second]) run.wait(activation, wait, () => undefined);

  expect(run.resolve(first)).toBe('park');
  run.record(first, { status: 'SUCCESS', exit: 'yes', payload: null });

  const { waits, resolved } = run.takePending();
  expect(waits.map(({ activation }) => activation)).toEqual([second]);
  expect(resolved).toEqual([first]);
  run.release('fenced');
});

test('a node whose last attempt goes on waits for the result, although an attempt before it failed', () => {
  const run = aClaimedRun(noops(2));
  const event = { node_id: 'n1', frame: null, exit: null, payload: null, started: null };
  const start = { ...event, seq: 1, node_id: 'start', attempt: 1, status: 'SUCCESS', exit: 'output' };
  const failed = { ...event, seq: 2, attempt: 1, status: 'FAILED' };
  const retryingAfter = (events: Parameters<typeof replayAll>[1]['events']) =>
    [...replayAll(run, { checkpoint: null, seq: 0, events }).retrying].map((activation) => activation?.node.id);

  expect(retryingAfter([start, failed])).toEqual(['n1']);
  expect(retryingAfter([start, failed, { ...event, seq: 3, attempt: 2, status: 'SUSPENDED' }])).toEqual([]);
});
