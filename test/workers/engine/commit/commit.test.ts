import { setImmediate as nextTick } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { newID } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';
import { compileGraph, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { type Committed, createCommitter } from '#workers/engine/commit/commit.ts';
import type { ClaimedRow } from '#workers/engine/state/claimed-row.ts';
import { Run } from '#workers/engine/state/run.ts';

let deployment: Deployment;
let versionID: string;
beforeAll(async () => {
  deployment = await startDeployment();
  versionID = await deployment.saveVersion(noops(2));
});
afterAll(() => deployment[Symbol.asyncDispose]());

/** Runs held by a lease of the test, and a committer that writes for it. */
async function own(count: number) {
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
  const published: string[] = [];
  const fenced: string[] = [];
  const refused: string[] = [];
  const broken: string[] = [];
  const breaking: Breaking = { reads: 0, commits: [], answers: 0, publications: 0 };
  const poisons = new Set<Run>();
  const committer = createCommitter({
    pool: breakable(deployment.pool, breaking),
    leaseID: () => leaseID,
    logger: testLogger,
    onCommitted(result) {
      if (poisons.has(result.run)) throw new Error('cannot go on');
      committed.push(result);
    },
    onBroken: (run) => broken.push(run.id),
    onFenced: (run) => fenced.push(run.id),
    onRefused: (run) => refused.push(run.id),
    publish(rows) {
      if (breaking.publications-- > 0) throw new Error('cannot be told');
      published.push(...rows.map(({ instanceID }) => instanceID));
    },
  });
  const owned = ids.map(asOwned);
  function step(run: Run, payload = '{"output":{}}', nodeID = 'n1') {
    run.record(activationOf(run, nodeID), { status: 'SUCCESS', exit: 'yes', payload });
    committer.submit(run);
  }
  return { leaseID, owned, committer, committed, published, fenced, refused, broken, breaking, poisons, step };
}

interface Breaking {
  reads: number;
  /** Codes of errors. */
  commits: string[];
  /** Commits whose statement takes effect, and whose answer is lost. */
  answers: number;
  publications: number;
}

/** A pool whose next reads of states, or next commits, fail; real otherwise. */
function breakable(pool: Pool, breaking: Breaking): Pool {
  const query = (statement: unknown, ...values: unknown[]) => {
    const { name = '' } = statement as { name?: string };
    const code = name.startsWith('commit_') && breaking.commits.shift();
    if (code) return Promise.reject(Object.assign(new Error('The server cannot now'), { code }));
    if (name.startsWith('commit_') && breaking.answers > 0) {
      breaking.answers -= 1;
      const lost = () => Promise.reject(Object.assign(new Error('Connection terminated'), { code: '08006' }));
      return Reflect.apply(pool.query, pool, [statement, ...values]).then(lost);
    }
    if (breaking.reads > 0 && typeof statement === 'string' && statement.includes('held_by, wake_seq, status')) {
      breaking.reads -= 1;
      return Promise.reject(new Error('Connection terminated unexpectedly'));
    }
    return Reflect.apply(pool.query, pool, [statement, ...values]);
  };
  return new Proxy(pool, { get: (target, key) => (key === 'query' ? query : Reflect.get(target, key)) });
}

/** A run as its holder sees it that has just claimed it. */
function asOwned(id: string): Run {
  const { nodes, edges } = noops(2);
  const graph = runSync(compileGraph(WorkflowNode.array().parse(nodes), WorkflowEdge.array().parse(edges)));
  const row: ClaimedRow = {
    id,
    tenant_id: deployment.tenantID,
    workflow_id: null,
    version_id: versionID,
    epoch: 1,
    seq: 0,
    wake_seq: 0,
    losses: 0,
    parent_id: null,
    map_id: null,
    depth: 0,
    deadline_at: new Date(),
    caller: { type: 'system', id: deployment.tenantID, origin: 'direct' },
    input: {},
    test_mode: null,
    held_length: null,
  };
  return new Run(row, {
    creatorID: deployment.tenantID,
    author: null,
    graph,
    options: WorkflowOptions.parse({}),
    policies: [],
  });
}

function activationOf(run: Run, nodeID: string): Activation {
  const activation = run.state.find(nodeID, '0');
  if (!activation) throw new Error(`No node ${nodeID}`);
  return activation;
}

test('of fifty runs one is invalid, one stale and one locked: the others commit, and each of the three is handled', async () => {
  const { owned, committer, committed, fenced, refused, step } = await own(50);
  const [poisoned, stale, locked, ...others] = owned as [Run, Run, Run, ...Run[]];
  await deployment.pool.query('update workflow_instance set epoch = 2 where id = $1', [stale.id]);
  const blocker = await deployment.pool.connect();
  await blocker.query('begin');
  await blocker.query('select from workflow_instance where id = $1 for update', [locked.id]);

  try {
    for (const run of owned) step(run, run === poisoned ? '{"output": not json' : undefined);
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
  const { owned, committer, committed, fenced, step } = await own(5);
  for (const run of owned) step(run);
  await committer.idle();
  expect(committed).toHaveLength(5);

  // The same steps from the same seq, as after a lost answer.
  for (const run of owned) step(asOwned(run.id));
  await committer.idle();

  expect(fenced).toEqual([]);
  expect(committed).toHaveLength(10);
  const { rows } = await deployment.pool.query<{ n: number }>(
    'select count(*) as n from run_event where instance_id = any($1::uuid[])',
    [owned.map(({ id }) => id)],
  );
  expect(rows[0]?.n).toBe(5);
});

// A run alone in its batch has a statement of its own.
describe.each([
  ['alone', 1],
  ['in a batch', 3],
])('a run %s', (_, count) => {
  test.each([
    ['another lease', 'held_by = uuidv7()'],
    ['another epoch', 'epoch = 2'],
    ['another number', 'seq = -1'],
  ])('cannot write when its row has %s', async (_, change) => {
    const { owned, committer, committed, fenced, step } = await own(count);
    const [run, ...others] = owned as [Run, ...Run[]];
    await deployment.pool.query(`update workflow_instance set ${change} where id = $1`, [run.id]);

    for (const each of owned) step(each);
    await committer.idle();

    expect(committed.map((each) => each.run.id).sort()).toEqual(others.map(({ id }) => id).sort());
    expect(fenced).toEqual([run.id]);
    const { rowCount } = await deployment.pool.query('select from run_event where instance_id = $1', [run.id]);
    expect(rowCount).toBe(0);
  });

  test('is written with all that its event says', async () => {
    const { owned, committer, committed } = await own(count);
    for (const run of owned) {
      const activation = activationOf(run, 'n1');
      const outcome = { status: 'SUCCESS' as const, exit: 'y"e{s,\0\ud83d', payload: '{"output":{"text":"a\\\\b"}}' };
      run.launch(activationOf(run, 'n2'), run.record(activation, outcome));
      run.observeWake(3);
      committer.submit(run);
    }
    await committer.idle();

    const ids = owned.map(({ id }) => id);
    const { rows } = await deployment.pool.query('select * from run_event where instance_id = any($1::uuid[])', [ids]);
    const event = { seq: 2, node_id: 'n1', iteration: 0, attempt: 1, status: 'SUCCESS', exit: 'y"e{s,\uFFFD\uFFFD' };
    const written = { ...event, payload: { output: { text: 'a\\b' } }, frame: null, started: ['n2'] };
    expect(rows).toEqual(owned.map(() => expect.objectContaining(written)));
    expect(committed).toHaveLength(count);
    const row = { status: 'RUNNING', seq: 2, epoch: 1, losses: 0, output: null, error: null, ready_at: null };
    for (const id of ids) expect(await deployment.read(id)).toMatchObject(row);
  });

  test('waits for its locked row without a place in a statement', async () => {
    const { owned, committer, committed, step } = await own(count);
    const blocker = await deployment.pool.connect();
    try {
      await blocker.query('begin');
      await blocker.query('select from workflow_instance where id = $1 for update', [owned[0]?.id]);
      for (const run of owned) step(run);
      await eventually(() => expect(committed).toHaveLength(count - 1));
      const { statements } = committer.stats;
      // Sent again and again, each time answered at once.
      await eventually(() => expect(committer.stats.statements).toBeGreaterThan(statements + 1));
    } finally {
      await blocker.query('commit');
      blocker.release();
    }
    await committer.idle();
    expect(committed).toHaveLength(count);
  });
});

test.each([
  ['alone', 1],
  ['in a batch', 3],
])('a run %s that has only begun keeps its losses, and any outcome of it clears them', async (_, count) => {
  const { owned, committer } = await own(count);
  const ids = owned.map(({ id }) => id);
  await deployment.pool.query('update workflow_instance set losses = 2, hand_backs = 1 where id = any($1::uuid[])', [
    ids,
  ]);
  const crashCounts = async () => {
    const text = 'select losses, hand_backs from workflow_instance where id = any($1::uuid[])';
    return (await deployment.pool.query(text, [ids])).rows;
  };

  for (const run of owned) {
    run.launch(activationOf(run, 'n1'), null);
    committer.submit(run);
  }
  await committer.idle();
  expect(await crashCounts()).toEqual(owned.map(() => ({ losses: 2, hand_backs: 0 })));

  for (const run of owned) {
    run.record(activationOf(run, 'n1'), { status: 'SUCCESS', exit: 'yes', payload: '{"output":{}}' });
    committer.submit(run);
  }
  await committer.idle();
  expect(await crashCounts()).toEqual(owned.map(() => ({ losses: 0, hand_backs: 0 })));
});

test('a commit of a run that goes on names no column that a trigger watches', async () => {
  const { owned, committer, step } = await own(1);
  const [run] = owned as [Run];
  const { pool } = deployment;
  const { rows: watched } = await pool.query<{ name: string }>(
    `select distinct a.attname as name from pg_trigger t join pg_attribute a on a.attrelid = t.tgrelid and a.attnum = any(t.tgattr)
     where t.tgrelid = 'workflow_instance'::regclass`,
  );
  expect(watched.map(({ name }) => name)).toContain('completed_at');
  await pool.query('create table seen_by_trigger (seq bigint)');
  await pool.query(`create function see_update() returns trigger language plpgsql as
    $$ begin insert into seen_by_trigger values (new.seq); return new; end $$`);
  await pool.query(`create trigger see before update of ${watched.map(({ name }) => name).join(', ')} on workflow_instance
    for each row execute function see_update()`);
  try {
    step(run);
    await committer.idle();
    expect(committer.stats.commits).toBe(1);
    expect((await pool.query('select seq from seen_by_trigger')).rows).toEqual([]);
  } finally {
    await pool.query('drop trigger see on workflow_instance');
    await pool.query('drop function see_update; drop table seen_by_trigger');
  }
});

test('only changes of runs that are watched are published', async () => {
  const { owned, committer, published, step } = await own(3);
  const [watched, left, unwatched] = owned as [Run, Run, Run];
  const { pool } = deployment;
  await pool.query(`update workflow_instance set watched_until = now() + interval '1 minute' where id = $1`, [
    watched.id,
  ]);
  await pool.query(`update workflow_instance set watched_until = now() - interval '1 second' where id = $1`, [left.id]);
  for (const run of [watched, left, unwatched]) step(run);
  await committer.idle();
  expect(committer.stats.commits).toBe(3);
  expect(published).toEqual([watched.id]);
});

// A race that is lost once in a thousand is what it looks for: no second try.
test('concurrent parking and waking loses no wake, a thousand times', { retry: 0 }, async () => {
  const { owned, committer, committed, leaseID } = await own(1000);
  const race = async (run: Run) => {
    const activation = activationOf(run, 'n1');
    run.record(activation, { status: 'SUSPENDED', exit: null, payload: null });
    run.wait(activation, { kind: 'child', purpose: 'park', ms: null, ref: run.id }, () => undefined);
    run.rest();
    committer.submit(run);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
    await deployment.runs.wake([run.id]);
  };
  // A statement waits five seconds at most for one of the five connections: on a busy machine a thousand at once would wait longer.
  for (let at = 0; at < owned.length; at += 100) await Promise.all(owned.slice(at, at + 100).map(race));
  await committer.idle();

  expect(committed).toHaveLength(1000);
  const { rows } = await deployment.pool.query<{ n: number }>(
    `select count(*) as n from workflow_instance where id = any($1::uuid[]) and ready_at is not null and held_by is null and status = 'WAITING'`,
    [owned.map(({ id }) => id)],
  );
  expect(rows[0]?.n).toBe(1000);
  await deployment.pool.query('update worker_session set ended_at = now() where id = $1', [leaseID]);
});

test('a park whose answer is lost is found committed, and says that the run may have been woken', async () => {
  const { owned, committer, committed, fenced, breaking } = await own(1);
  const [run] = owned as [Run];
  const activation = activationOf(run, 'n1');
  run.record(activation, { status: 'SUSPENDED', exit: null, payload: null });
  run.wait(activation, { kind: 'child', purpose: 'park', ms: null, ref: run.id }, () => undefined);
  run.rest();
  await deployment.pool.query('update workflow_instance set wake_seq = 1 where id = $1', [run.id]);
  breaking.answers = 1;

  committer.submit(run);
  await committer.idle();

  expect(fenced).toEqual([]);
  expect(committed).toMatchObject([{ run, wakeSeq: 1, ready: true }]);
});

test('an exception in the handling of one commit ends neither the others nor later commits', async () => {
  const { owned, committer, committed, broken, poisons, step } = await own(3);
  const [poisoned, ...others] = owned as [Run, ...Run[]];
  poisons.add(poisoned);

  for (const run of owned) step(run);
  await committer.idle();
  expect(broken).toEqual([poisoned.id]);
  expect(new Set(committed.map(({ run }) => run))).toEqual(new Set(others));

  for (const run of others) step(run, undefined, 'n2');
  await committer.idle();
  expect(committed).toHaveLength(4);
});

test('an exception in a publication ends no commits', async () => {
  const { owned, committer, committed, broken, breaking, step } = await own(2);
  breaking.publications = 1;

  for (const nodeID of ['n1', 'n2']) {
    for (const run of owned) step(run, undefined, nodeID);
    await committer.idle();
  }

  expect(committed).toHaveLength(4);
  expect(broken).toEqual([]);
});

test('runs whose commits cannot be taken end neither the commits of others nor the process', async () => {
  const { owned, committer, committed, broken, step } = await own(5);
  const [first, second, ...others] = owned as [Run, Run, ...Run[]];
  const takePending = () => {
    throw new RangeError('Invalid string length');
  };
  // One for each of the two statements that may be in flight.
  for (const run of [first, second]) {
    Object.assign(run, { takePending });
    step(run);
    await nextTick();
  }

  for (const run of others) step(run);
  await committer.idle();

  expect(broken).toEqual([first.id, second.id]);
  expect(new Set(committed.map(({ run }) => run))).toEqual(new Set(others));
});

test('a read that fails after a commit is repeated, and commits go on', async () => {
  const { owned, committer, committed, step, breaking } = await own(3);
  const [locked, ...others] = owned as [Run, ...Run[]];
  const blocker = await deployment.pool.connect();
  await blocker.query('begin');
  await blocker.query('select from workflow_instance where id = $1 for update', [locked.id]);
  try {
    // The row is locked, so its state is read; the first two of these reads fail.
    breaking.reads = 2;
    for (const run of owned) step(run);
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

test.each([
  ['08006', 'a broken connection'],
  ['25006', 'a standby that cannot write yet'],
  ['40P01', 'a deadlock'],
  ['53100', 'a full disk'],
  ['55P03', 'a lock timeout'],
  ['57P03', 'a server that starts'],
  ['58030', 'an error of its disk'],
])('a commit that fails with %s, %s, is sent again', async (code) => {
  const { owned, committer, committed, refused, breaking, step } = await own(1);
  breaking.commits = [code];

  // Alone, because halves of a refused batch are sent again too.
  for (const run of owned) step(run);
  await committer.idle();

  expect(committed).toHaveLength(1);
  expect(refused).toEqual([]);
  expect(breaking.commits).toEqual([]);
});

test('commits that are large together are written by several statements, and all of them', async () => {
  const { owned, committer, committed, refused, step } = await own(12);
  const payload = JSON.stringify({ output: { text: 'x'.repeat(5_000_000) } });

  for (const run of owned) step(run, payload);
  await committer.idle();

  expect(committed).toHaveLength(12);
  expect(refused).toEqual([]);
  // Two fit into no statement together.
  expect(committer.stats.statements).toBeGreaterThanOrEqual(12);
});

test('a commit that is larger than a statement of many may be is written alone, and no small one waits for it', async () => {
  const { owned, committer, committed, step } = await own(2);
  const [large, small] = owned as [Run, Run];

  step(large, JSON.stringify({ output: { text: 'x'.repeat(8_100_000) } }));
  step(small);
  await committer.idle();

  expect(committed.map(({ run }) => run)).toEqual([small, large]);
});

test('large commits of a creator with few do not wait for all of another', async () => {
  const { owned, committer, committed, step } = await own(12);
  const other = owned[11] as Run;
  Object.assign(other, { flow: { tenantID: 'other', creatorID: 'other' } });
  const payload = JSON.stringify({ output: { text: 'x'.repeat(1_000_000) } });

  for (const run of owned) step(run, payload);
  await committer.idle();

  expect(committed).toHaveLength(12);
  // Two are in flight when its turn comes.
  expect(committed.findIndex(({ run }) => run === other)).toBeLessThan(5);
  expect(committer.stats.statements).toBe(12);
});

test('what the driver itself cannot send is found among the others, which commit', async () => {
  const { owned, committer, committed, refused, step } = await own(8);
  const [poisoned, ...others] = owned as [Run, ...Run[]];
  // A payload whose length alone is known: writing it throws before anything is sent.
  const payload = {
    length: 1,
    replace: () => {
      throw new RangeError('Invalid string length');
    },
  } as unknown as string;
  step(poisoned, payload);
  for (const run of others) step(run);
  await committer.idle();

  expect(refused).toEqual([poisoned.id]);
  expect(new Set(committed.map(({ run }) => run))).toEqual(new Set(others));
});
