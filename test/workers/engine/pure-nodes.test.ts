import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph, noop, noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import type { WorkerContext } from '#workers/process/worker.ts';

let deployment: Deployment;
let worker: WorkerContext;
beforeAll(async () => {
  deployment = await startDeployment();
  worker = await deployment.startWorker();
});
afterAll(() => deployment[Symbol.asyncDispose]());
afterEach(() => vi.restoreAllMocks());

/** Runs a graph to its end. Answers with its events, and with the number of steps that were committed for it. */
async function run(shape: { nodes: object[]; edges: object[] }, options: JsonObject = {}, input: JsonObject = {}) {
  const before = worker.engine.stats.commits;
  const versionID = await deployment.saveVersion(shape, options);
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, input));
  await deployment.settle();
  const events = await deployment.events(instanceID);
  return {
    row: await deployment.read(instanceID),
    steps: worker.engine.stats.commits - before,
    events: events.map(({ seq, node_id, status, attempt, exit }) => [seq, node_id, status, attempt, exit]),
  };
}

const off = { ...code('throw new Error("never")'), isDisabled: true };
const shapes = {
  'a chain': noops(5),
  'branches that join': graph(
    { start: { type: 'start' }, a: noop, b: noop, c: noop, d: noop, join: noop, end: { type: 'end' } },
    ['start>a', 'start>b', 'start>c', 'a:yes>d', 'b:yes>join', 'd:yes>join', 'join:yes>end', 'c:default>join'],
  ),
  'disabled nodes': graph({ start: { type: 'start' }, off, a: noop, end: { type: 'end' } }, [
    'start>off',
    'off:success>a',
    'a:yes>end',
  ]),
  'effects between': graph(
    { start: { type: 'start' }, a: noop, b: noop, effect: code('return 1'), c: noop, d: noop, end: { type: 'end' } },
    ['start>a', 'a:yes>b', 'b:yes>effect', 'effect:success>c', 'effect:success>d', 'c:yes>end'],
  ),
  'an end that fails the run': graph({ start: { type: 'start' }, a: noop, no: { type: 'end', status: 'failure' } }, [
    'start>a',
    'a:yes>no',
  ]),
};

test.each(Object.entries(shapes))(
  '%s: events, their order and numbers are as with one commit per node',
  async (_, shape) => {
    const batched = await run(shape);
    const single = await run(shape, { durability: 'node' });

    expect(batched.events).toEqual(single.events);
    expect(batched.row).toMatchObject({ status: single.row.status, seq: single.row.seq });
    expect(batched.steps).toBeLessThan(single.steps);
  },
);

test('pure nodes share the commit of the outcome before them', async () => {
  // On a busy machine they may take longer than the 5 ms that share a commit.
  await eventually(async () => expect((await run(noops(9))).steps).toBe(1));
  expect((await run(noops(9), { durability: 'node' })).steps).toBe(10);
});

test('at most 200 nodes share a commit, and the run is right in the end', async () => {
  const { steps, events, row } = await run(noops(450));

  // More if they take longer than 5 ms.
  expect(steps).toBeGreaterThanOrEqual(3);
  expect(steps).toBeLessThan(450);
  expect(row).toMatchObject({ status: 'COMPLETED', seq: events.length });
  expect(events.map(([seq]) => seq)).toEqual(events.map((_, index) => index + 1));
});

test('a process that is held up between any two nodes, also before the first, brings the run to its end', async () => {
  const now = performance.now.bind(performance);
  let occupiedMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => {
    // Longer than nodes that share a commit may take.
    occupiedMs += 6;
    return now() + occupiedMs;
  });

  const { row } = await run(noops(3));

  expect(row).toMatchObject({ status: 'COMPLETED' });
});

test('nodes after an output of more than a megabyte go into the next commit', async () => {
  const input = { text: 'x'.repeat(1_100_000) };

  await eventually(async () => {
    const { steps, row } = await run(noops(3), {}, input);
    expect(row.status).toBe('COMPLETED');
    expect(steps).toBe(2);
  });
});

test('a condition that needs the sandbox is not pure', async () => {
  const pattern = { id: 'yes', conditions: [{ operator: 'matches_regex', leftValue: 'a', rightValue: 'a' }] };
  const { steps, row } = await run(
    graph({ start: { type: 'start' }, test: { type: 'condition', branches: [pattern] }, end: { type: 'end' } }, [
      'start>test',
      'test:yes>end',
    ]),
  );

  expect(row.status).toBe('COMPLETED');
  expect(steps).toBe(2);
});

test('no effect starts before a commit names it', async () => {
  const versionID = await deployment.saveVersion(shapes['effects between']);
  const blocker = await deployment.pool.connect();
  try {
    await blocker.query('begin');
    await blocker.query('lock table run_event in exclusive mode');
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
    await eventually(async () => {
      const { rows } = await deployment.pool.query(
        `select from pg_locks where relation = 'run_event'::regclass and not granted`,
      );
      expect(rows).toHaveLength(1);
    });

    expect(worker.engine.owned.get(instanceID)).toBeDefined();
    expect(worker.engine.stats.slotsUsed).toBe(0);
  } finally {
    await blocker.query('commit');
    blocker.release();
  }
  await deployment.settle();
});
