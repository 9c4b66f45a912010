import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pool } from '#shared/db/pool.ts';
import { newID } from '#shared/ids.ts';
import { compileGraph, createProgress, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { type Committed, createCommitter } from '#workers/engine/commit.ts';
import { emptyStep, type HeldRun } from '#workers/engine/held-run.ts';

let deployment: Deployment;
let versionID: string;
beforeAll(async () => {
  deployment = await startDeployment();
  versionID = await deployment.saveVersion(noops(1));
});
afterAll(() => deployment[Symbol.asyncDispose]());

/** Runs held by a lease of the test, and a committer that writes for it. */
async function hold(count: number) {
  const leaseID = newID();
  const ids = Array.from({ length: count }, () => newID());
  await deployment.pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 0, 't')`,
    [leaseID],
  );
  await deployment.pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, epoch, held_by, deadline_at, caller)
     select id, $2, $3, 'RUNNING', 1, $4, now() + interval '1 hour', '{}' from unnest($1::uuid[]) as id`,
    [ids, deployment.tenantID, versionID, leaseID],
  );
  const committed: Committed[] = [];
  const fenced: string[] = [];
  const refused: string[] = [];
  const broken: string[] = [];
  const breaking = { reads: 0 };
  const committer = createCommitter({
    pool: breakingReads(deployment.pool, breaking),
    leaseID: () => leaseID,
    logger: testLogger,
    onCommitted(result) {
      if (result.run.scope.poison) throw new Error('cannot go on');
      committed.push(result);
    },
    onBroken: (run) => broken.push(run.id),
    onFenced: (run) => fenced.push(run.id),
    onRefused: (run) => refused.push(run.id),
    publish: () => undefined,
  });
  const held = ids.map(asHeld);
  function step(run: HeldRun, payload = '{"output":{}}', nodeID = 'n1') {
    run.step.events.push({ nodeID, iteration: 0, attempt: 1, status: 'SUCCESS', exit: 'yes', payload });
    committer.submit(run);
  }
  return { leaseID, held, committer, committed, fenced, refused, broken, breaking, step };
}

/** A pool whose next reads of states fail as a broken connection would; real otherwise. */
function breakingReads(pool: Pool, breaking: { reads: number }): Pool {
  const query = (statement: unknown, ...values: unknown[]) => {
    if (breaking.reads > 0 && typeof statement === 'string' && statement.includes('held_by, wake_seq, status')) {
      breaking.reads -= 1;
      return Promise.reject(new Error('Connection terminated unexpectedly'));
    }
    return Reflect.apply(pool.query, pool, [statement, ...values]);
  };
  return new Proxy(pool, { get: (target, key) => (key === 'query' ? query : Reflect.get(target, key)) });
}

function asHeld(id: string): HeldRun {
  const { nodes, edges } = noops(1);
  const graph = compileGraph(WorkflowNode.array().parse(nodes), WorkflowEdge.array().parse(edges));
  return {
    id,
    tenantID: deployment.tenantID,
    workflowID: null,
    epoch: 1,
    caller: { type: 'system', id: deployment.tenantID, origin: 'direct' },
    turn: { tenantID: deployment.tenantID },
    version: { graph, options: WorkflowOptions.parse({}), policies: [] },
    parentID: null,
    depth: 0,
    deadlineAt: new Date(),
    progress: createProgress(graph),
    scope: {},
    abort: new AbortController(),
    claimedAt: 0,
    seq: 0,
    seen: 0,
    nodesRun: 0,
    outputBytes: 0,
    failures: new Map(),
    attempts: new Map(),
    running: new Set(),
    waiting: new Map(),
    ended: new Set(),
    backlog: [],
    result: { output: {}, status: 'success', nodeID: null, reached: false },
    onProgress: null,
    step: emptyStep(),
    committing: false,
    leaving: false,
    rereading: 0,
    left: null,
    released: Promise.withResolvers(),
  };
}

test('of fifty runs one is invalid, one stale and one locked: the others commit, and each of the three is handled', async () => {
  const { held, committer, committed, fenced, refused, step } = await hold(50);
  const [poisoned, stale, locked, ...others] = held as [HeldRun, HeldRun, HeldRun, ...HeldRun[]];
  await deployment.pool.query('update workflow_instance set epoch = 2 where id = $1', [stale.id]);
  const blocker = await deployment.pool.connect();
  await blocker.query('begin');
  await blocker.query('select from workflow_instance where id = $1 for update', [locked.id]);

  try {
    for (const run of held) step(run, run === poisoned ? '{"output": not json' : undefined);
    await eventually(() => expect(committed).toHaveLength(47));

    expect(new Set(committed.map(({ run }) => run))).toEqual(new Set(others));
    expect(fenced).toEqual([stale.id]);
    expect(refused).toEqual([poisoned.id]);
  } finally {
    await blocker.query('commit');
    blocker.release();
  }
  await committer.idle();
  expect(committed.map(({ run }) => run)).toContain(locked);
});

test('a repeated batch changes nothing', async () => {
  const { held, committer, committed, fenced, step } = await hold(5);
  for (const run of held) step(run);
  await committer.idle();
  expect(committed).toHaveLength(5);

  // The same steps from the same seq, as after a lost answer.
  for (const run of held) {
    run.seq = 0;
    step(run);
  }
  await committer.idle();

  expect(fenced).toEqual([]);
  expect(committed).toHaveLength(10);
  const { rows } = await deployment.pool.query<{ n: number }>(
    'select count(*) as n from run_event where instance_id = any($1::uuid[])',
    [held.map(({ id }) => id)],
  );
  expect(rows[0]?.n).toBe(5);
});

test('a holder with another lease cannot write', async () => {
  const { held, committer, committed, fenced, step } = await hold(1);
  const [run] = held as [HeldRun];
  await deployment.pool.query('update workflow_instance set held_by = $2 where id = $1', [run.id, newID()]);

  step(run);
  await committer.idle();

  expect(committed).toEqual([]);
  expect(fenced).toEqual([run.id]);
});

test('concurrent parking and waking loses no wake, a thousand times', async () => {
  const { held, committer, committed, leaseID } = await hold(1000);
  const races = held.map(async (run) => {
    run.step.release = 'park';
    run.step.events.push({ nodeID: 'n1', iteration: 0, attempt: 1, status: 'SUSPENDED', exit: null, payload: null });
    committer.submit(run);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
    await deployment.runs.wake([run.id]);
  });
  await Promise.all(races);
  await committer.idle();

  expect(committed).toHaveLength(1000);
  const { rows } = await deployment.pool.query<{ n: number }>(
    `select count(*) as n from workflow_instance where id = any($1::uuid[]) and ready_at is not null and held_by is null and status = 'WAITING'`,
    [held.map(({ id }) => id)],
  );
  expect(rows[0]?.n).toBe(1000);
  await deployment.pool.query('update worker_session set ended_at = now() where id = $1', [leaseID]);
});

test('an exception in the handling of one commit ends neither the others nor later commits', async () => {
  const { held, committer, committed, broken, step } = await hold(3);
  const [poisoned, ...others] = held as [HeldRun, ...HeldRun[]];
  poisoned.scope.poison = true;

  for (const run of held) step(run);
  await committer.idle();
  expect(broken).toEqual([poisoned.id]);
  expect(new Set(committed.map(({ run }) => run))).toEqual(new Set(others));

  for (const run of others) step(run, undefined, 'n2');
  await committer.idle();
  expect(committed).toHaveLength(4);
});

test('a read that fails after a commit is repeated, and commits go on', async () => {
  const { held, committer, committed, step, breaking } = await hold(3);
  const [locked, ...others] = held as [HeldRun, ...HeldRun[]];
  const blocker = await deployment.pool.connect();
  await blocker.query('begin');
  await blocker.query('select from workflow_instance where id = $1 for update', [locked.id]);
  try {
    // The row is locked, so its state is read; the first two of these reads fail.
    breaking.reads = 2;
    for (const run of held) step(run);
    await eventually(() => expect(breaking.reads).toBe(0));
    for (const run of others) step(run, undefined, 'n2');
    await eventually(() => expect(committed).toHaveLength(4));
  } finally {
    await blocker.query('commit');
    blocker.release();
  }

  await committer.idle();
  expect(committed).toHaveLength(5);
});

test('steps that are large together are written by several statements, and all of them', async () => {
  const { held, committer, committed, refused, step } = await hold(12);
  const payload = JSON.stringify({ output: { text: 'x'.repeat(5_000_000) } });

  for (const run of held) step(run, payload);
  await committer.idle();

  expect(committed).toHaveLength(12);
  expect(refused).toEqual([]);
  // Two fit into no statement together.
  expect(committer.stats.statements).toBeGreaterThanOrEqual(12);
});

test('what the driver itself cannot send is found among the others, which commit', async () => {
  const { held, committer, committed, refused, step } = await hold(8);
  const [poisoned, ...others] = held as [HeldRun, ...HeldRun[]];
  const unsendable = { nodeID: 'n1', iteration: 0, attempt: 1, status: 'SUCCESS', exit: 'yes' } as const;
  // A payload whose length alone is known: writing it throws before anything is sent.
  const payload = {
    length: 1,
    replace: () => {
      throw new RangeError('Invalid string length');
    },
  } as unknown as string;
  poisoned.step.events.push({ ...unsendable, payload });
  committer.submit(poisoned);
  for (const run of others) step(run);
  await committer.idle();

  expect(refused).toEqual([poisoned.id]);
  expect(new Set(committed.map(({ run }) => run))).toEqual(new Set(others));
});
