import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createByteAccount } from '#shared/byte-account.ts';
import type { Turn } from '#shared/turns.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import { createSlots } from '#workers/engine/slots.ts';

test('a slot that a node gets after its run was stopped is free again', async () => {
  await using deployment = await startDeployment({ WORKER_SLOTS: '1' });
  await using server = await startHTTP(() => undefined);
  const worker = await deployment.startWorker();
  const call = { type: 'http', method: 'GET', url: server.origin };
  const versionID = await deployment.saveVersion(
    graph({ start: { type: 'start' }, first: call, second: call }, ['start>first', 'start>second']),
  );
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  await eventually(async () => {
    const events = await deployment.events(instanceID);
    expect(events.filter(({ status }) => status === 'RUNNING')).toHaveLength(2);
    expect(worker.engine.stats.slotsUsed).toBe(1);
    expect(server.seen).toHaveLength(1);
  });

  await deployment.runs.stop(deployment.tenantID, instanceID);

  await eventually(() => expect(worker.engine.stats.slotsUsed).toBe(0));
  expect(server.seen).toHaveLength(1);
});

test('nodes at silent servers leave slots to the next creator, however many tenants theirs has', async () => {
  const lease = { isValid: true, untilValid: async () => undefined };
  const slots = createSlots(50, lease, createByteAccount({ maxBytes: 1_000_000 }));
  const begun: string[] = [];
  const { promise: silence, resolve: answer } = Promise.withResolvers<void>();
  const begin = (turn: Turn) => {
    const run = () => {
      begun.push(turn.tenantID);
      return silence;
    };
    return slots.enter({ turn, isShort: false, isOver: () => false, run });
  };
  const nodes = Array.from({ length: 120 }, (_, n) => begin({ tenantID: `a${n % 12}`, creatorID: 'ann' }));
  await nextTick();
  expect(begun).toHaveLength(32);

  nodes.push(begin({ tenantID: 'b', creatorID: 'bob' }));
  await nextTick();

  expect(begun.slice(32)).toEqual(['b']);
  answer();
  await Promise.all(nodes);
  expect(begun).toHaveLength(121);
});
