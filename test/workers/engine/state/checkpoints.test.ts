import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph, noop, noops } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import type { WorkerContext } from '#workers/process/worker.ts';

let deployment: Deployment;
let worker: WorkerContext;
/** Rows of events that restores have read. */
let rowsRead = 0;
beforeAll(async () => {
  deployment = await startDeployment({ RUN_OUTPUT_MAX_BYTES: '500000' });
  worker = await deployment.startWorker();
  const query = worker.pool.query.bind(worker.pool) as (
    ...all: unknown[]
  ) => Promise<{ rows: { node_id?: unknown }[] }>;
  const counting = async (...all: unknown[]) => {
    const result = await query(...all);
    if ((all[0] as { name?: string }).name === 'read_events')
      rowsRead += result.rows.filter(({ node_id }) => node_id !== null).length;
    return result;
  };
  Object.assign(worker.pool, { query: counting });
});
afterAll(() => deployment[Symbol.asyncDispose]());

async function checkpointOf(id: string) {
  const { rows } = await deployment.pool.query<{ seq: number }>(
    'select seq from run_checkpoint where instance_id = $1',
    [id],
  );
  return rows[0];
}

test('a chain of 4,000 nodes with 10 yields reads less than a twentieth of its events again', async () => {
  const versionID = await deployment.saveVersion(noops(4_050));
  const claimedWith = new WeakMap<object, number>();
  const pressing = setInterval(() => {
    worker.engine.setPressure(true);
    for (const run of worker.engine.owned.values()) {
      const from = claimedWith.get(run) ?? run.seq;
      claimedWith.set(run, from);
      // After a commit or two: as if it were held for the second after which it yields.
      if (run.seq > from + 2) Object.assign(run, { claimedAt: Date.now() - 1_000 });
    }
  }, 1);
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  try {
    await eventually(async () => expect((await deployment.read(instanceID)).status).toBe('COMPLETED'));
  } finally {
    clearInterval(pressing);
  }

  const { epoch, seq } = await deployment.read(instanceID);
  expect(epoch).toBeGreaterThan(10);
  expect(seq).toBe(8_102);
  expect(rowsRead).toBeLessThan(4_051 / 20);
  const events = await deployment.events(instanceID);
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
  expect(await checkpointOf(instanceID)).toBeUndefined();
});

test('a run that is owned has a checkpoint for each thousand numbers of events', async () => {
  const answers: (() => void)[] = [];
  await using server = await startHTTP((_request, response) => void answers.push(() => response.end('{}')));
  const { nodes, edges } = noops(600);
  const call = { id: 'call', type: 'http', data: { method: 'GET', url: server.origin } };
  const versionID = await deployment.saveVersion({
    nodes: [...nodes, call],
    edges: [...edges, { id: 'last', source: 'n600', sourceHandle: 'yes', target: 'call' }],
  });
  const relaxing = setInterval(() => worker.engine.setPressure(false), 1);
  try {
    worker.engine.setPressure(false);
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
    await eventually(() => expect(answers).toHaveLength(1));

    expect(await deployment.read(instanceID)).toMatchObject({ epoch: 1, held_by: worker.leaseID });
    expect((await checkpointOf(instanceID))?.seq).toBeGreaterThanOrEqual(1_000);

    for (const answer of answers) answer();
    await eventually(async () => expect((await deployment.read(instanceID)).status).toBe('COMPLETED'));
    expect(await checkpointOf(instanceID)).toBeUndefined();
  } finally {
    clearInterval(relaxing);
  }
});

const middle = Array.from({ length: 120 }, (_, index) => `n${index}`);
const inLine = middle.slice(1).map((id, index) => `n${index}:yes>${id}`);

/** 120 nodes after an early value and an early end, and then `last`. */
function longRun(last: { type: string }, early = 'return 1') {
  const ends = { type: 'end', outputParameters: [{ name: 'early', sourceVariable: '{{ctx.early}}' }] };
  const outputParameters = [
    { name: 'late', sourceVariable: '{{ctx.early}}' },
    { name: 'why', sourceVariable: '{{ctx.error.message}} at attempt {{ctx.error.attempt}}' },
  ];
  const late = { type: 'end', outputParameters };
  const bad = code('throw new Error("no luck")', { retryLimit: 1, retryDelaySeconds: 0, outputVariable: 'bad' });
  return graph(
    {
      start: { type: 'start' },
      early: code(early, { outputVariable: 'early' }),
      bad,
      ends,
      ...Object.fromEntries(middle.map((id) => [id, noop])),
      last,
      late,
    },
    ['start>early', 'early:success>ends', 'early:success>bad', 'bad:error>n0', ...inLine, 'n119:yes>last', 'last>late'],
  );
}

/** A long run that is parked at its last node. */
async function parked(last: { type: string }, early?: string): Promise<string> {
  const versionID = await deployment.saveVersion(longRun(last, early));
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  await eventually(async () =>
    expect(await deployment.read(instanceID)).toMatchObject({ status: 'WAITING', held_by: null }),
  );
  expect((await checkpointOf(instanceID))?.seq).toBe((await deployment.read(instanceID)).seq);
  return instanceID;
}

async function wake(id: string) {
  await deployment.pool.query('update run_wait set due_at = now() where instance_id = $1', [id]);
  await deployment.runs.wake([id]);
  await eventually(async () => expect((await deployment.read(id)).status).toMatch(/^(COMPLETED|FAILED)$/));
  return deployment.read(id);
}

const pause = { type: 'delay', delayMinutes: 5 };

test('a run continues from its checkpoint with its values and the ends that it has reached', async () => {
  const id = await parked(pause);
  rowsRead = 0;

  expect(await wake(id)).toMatchObject({
    status: 'COMPLETED',
    output: { early: 1, late: 1, why: 'Error: no luck (line 1) at attempt 2' },
  });
  // One row each for the value, the failure, and the end.
  expect(rowsRead).toBe(3);
});

test('a run continues from its checkpoint with the attempts of a node that waits for its retry', async () => {
  const id = await parked(code('throw new Error("no")', { retryLimit: 1, retryDelaySeconds: 60 }));

  expect(await wake(id)).toMatchObject({ status: 'FAILED', error: { nodeID: 'last', attempt: 2 } });
});

test('a run continues from its checkpoint with the size of its outputs', async () => {
  const id = await parked(pause, `return 'x'.repeat(200_000)`);

  expect(await wake(id)).toMatchObject({ status: 'FAILED', error: { nodeID: 'late', code: 'OUTPUT_TOO_LARGE' } });
});

test('a run that is stopped leaves no checkpoint', async () => {
  const id = await parked(pause);

  await deployment.runs.stop(deployment.tenantID, id);

  expect(await checkpointOf(id)).toBeUndefined();
});

test('a checkpoint of an unknown version is ignored', async () => {
  const id = await parked(pause);
  await deployment.pool.query(`update run_checkpoint set state = '{"version": 99}' where instance_id = $1`, [id]);

  expect(await wake(id)).toMatchObject({ status: 'COMPLETED', output: { early: 1, late: 1 } });
});

/** After 120 nodes a loop over the items of the run's input, whose body ends with a value of both. */
function loopOver(items: readonly string[], each: { type: string }, exit: string) {
  const shape = graph(
    {
      start: { type: 'start' },
      ...Object.fromEntries(middle.map((id) => [id, noop])),
      loop: { type: 'loop', sourceVariable: '{{ctx.input.items}}', maxIterations: 100_000 },
      each,
      noted: { type: 'set', assignments: [{ name: 'noted', value: '{{ctx.item}} of {{ctx.input.items[0]}}' }] },
      end: { type: 'end', outputParameters: [{ name: 'results', sourceVariable: '{{ctx.loopResults}}' }] },
    },
    ['start>n0', ...inLine, 'n119:yes>loop', 'loop:loop>each', `each:${exit}>noted`, 'loop:completed>end'],
  );
  return { shape, input: { items: [...items] } };
}

test('no checkpoint of a loop repeats the input of its run', async () => {
  const { pool, runs, newRun, saveVersion } = deployment;
  await pool.query('create table checkpoint_size (instance_id uuid, seq int, bytes int)');
  await pool.query(
    `create function note_size() returns trigger language plpgsql as $$ begin
       insert into checkpoint_size values (new.instance_id, new.seq, octet_length(new.state::text));
       return new;
     end $$`,
  );
  await pool.query(
    'create trigger note_size after insert or update on run_checkpoint for each row execute function note_size()',
  );
  const items = Array.from({ length: 1_500 }, (_, index) => `item ${index}`);
  const { shape, input } = loopOver(items, noop, 'yes');

  const { instanceID } = await runs.accept(newRun(await saveVersion(shape), input));

  await eventually(async () => expect((await deployment.read(instanceID)).status).toBe('COMPLETED'));
  const { rows } = await pool.query<{ bytes: number }>('select bytes from checkpoint_size where instance_id = $1', [
    instanceID,
  ]);
  expect(rows.length).toBeGreaterThan(2);
  expect(Math.max(...rows.map(({ bytes }) => bytes))).toBeLessThan(1_000);
});

test.each([
  { version: 2, alter: '', results: ['a of a'] },
  // As an earlier version of the engine wrote it: an iteration had all that it was given.
  {
    version: 1,
    alter: `state || jsonb_build_object('version', 1, 'scopes', jsonb_build_array(jsonb_build_object(
      'path', state #> '{scopes,0,path}', 'outputs', '[]'::jsonb, 'given', '{"item": "b", "index": 0, "input": {"items": ["c"]}}'::jsonb)))`,
    results: ['b of c'],
  },
])(
  'an iteration continues from a checkpoint of version $version with what it was given',
  async ({ alter, results }) => {
    const { pool, runs, newRun, saveVersion } = deployment;
    const { shape, input } = loopOver(['a'], pause, 'output');
    const { instanceID } = await runs.accept(newRun(await saveVersion(shape), input));
    await eventually(async () =>
      expect(await deployment.read(instanceID)).toMatchObject({ status: 'WAITING', held_by: null }),
    );
    if (alter) await pool.query(`update run_checkpoint set state = ${alter} where instance_id = $1`, [instanceID]);

    expect(await wake(instanceID)).toMatchObject({ status: 'COMPLETED', output: { results: [{ noted: results[0] }] } });
  },
);
