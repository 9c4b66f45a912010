import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { newID } from '#shared/core/ids.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { graph, noops } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import { createSlots } from '#workers/engine/execute/slots.ts';

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
  const slots = createSlots(50, lease, createMemoryBudget({ maxBytes: 1_000_000 }));
  const begun: string[] = [];
  const { promise: silence, resolve: answer } = Promise.withResolvers<void>();
  const begin = (flow: FlowKey) => {
    const run = () => {
      begun.push(flow.tenantID);
      return silence;
    };
    return slots.enter({ flow, isShort: false, isOver: () => false, run });
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

test('a node that has waited for a connection goes on under a valid lease, and ends its wait when it is stopped', async () => {
  const lease = { isValid: true, untilValid: () => valid.promise };
  let valid = Promise.withResolvers<void>();
  valid.resolve();
  const slots = createSlots(50, lease, createMemoryBudget({ maxBytes: 1_000_000 }));
  const connections = createSemaphore({ permits: 1 });
  const stop = new AbortController();
  const done: string[] = [];
  const node = (name: string, signal?: AbortSignal) => {
    const flow = { tenantID: name };
    const run = async () => {
      await connections.acquirePermit(flow, signal);
      done.push(name);
    };
    return slots.enter({ flow, isShort: false, isOver: () => false, run });
  };
  await node('first');
  const second = node('second');
  const third = node('third', stop.signal);
  await nextTick();
  expect(done).toEqual(['first']);

  lease.isValid = false;
  valid = Promise.withResolvers();
  connections.release({ tenantID: 'first' });
  await nextTick();
  connections.release({ tenantID: 'second' });
  await nextTick();
  expect({ done, used: slots.used }).toEqual({ done: ['first'], used: 0 });

  stop.abort();
  await third;
  expect(done).toEqual(['first', 'third']);
  lease.isValid = true;
  valid.resolve();
  await second;
  expect({ done, used: slots.used }).toEqual({ done: ['first', 'third', 'second'], used: 0 });
});

test('a run is claimed and ends while the runs of another creator fill their part of a worker and are at silent servers', async () => {
  // Silent nodes get 4 of 5 slots. A creator gets 6 of the window's 7 runs.
  await using deployment = await startDeployment({ WORKER_SLOTS: '5' });
  await using server = await startHTTP(() => undefined);
  await deployment.startWorker();
  const silent = graph({ start: { type: 'start' }, call: { type: 'http', method: 'GET', url: server.origin } }, [
    'start>call',
  ]);
  const versionID = await deployment.saveVersion(silent);
  const noopID = await deployment.saveVersion(noops(1));
  const tenantID = newID();
  await deployment.pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'Another', $1)`, [
    tenantID,
  ]);
  await deployment.runs.acceptMany(Array.from({ length: 20 }, () => deployment.newRun(versionID)));
  const reserved = async () => {
    const { rows } = await deployment.pool.query('select from workflow_instance where held_by is not null');
    return rows.length;
  };
  await eventually(async () => {
    expect(await reserved()).toBe(6);
    expect(server.seen).toHaveLength(4);
  });

  const [id = ''] = await deployment.runs.acceptMany([{ ...deployment.newRun(noopID), tenantID }]);

  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }));
});

test('a node whose flow comes while the lease is over gives its slot back, and has one when the lease is valid again', async () => {
  let valid = Promise.resolve();
  const lease = { isValid: true, untilValid: () => valid };
  const slots = createSlots(1, lease, createMemoryBudget({ maxBytes: 1_000_000 }));
  const [flow, first] = [{ tenantID: newID() }, Promise.withResolvers<void>()];
  let hasBegun = false;
  const begin = (run: () => Promise<void>) => slots.enter({ flow, isShort: false, isOver: () => false, run });
  const nodes = [
    begin(() => first.promise),
    begin(async () => {
      hasBegun = true;
    }),
  ];
  await nextTick();

  const again = Promise.withResolvers<void>();
  valid = again.promise;
  lease.isValid = false;
  first.resolve();
  await nodes[0];
  await nextTick();
  expect([hasBegun, slots.used]).toEqual([false, 0]);
  lease.isValid = true;
  again.resolve();

  await Promise.all(nodes);
  expect([hasBegun, slots.used]).toEqual([true, 0]);
});
