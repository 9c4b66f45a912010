import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import { VALUE } from '#workers/engine/values/read-values.ts';

let deployment: Deployment;
/** Names of the statements that the worker has sent for values and pasts, with the length of the answers. */
let reads: { name: string; key: unknown; length: number }[] = [];
beforeAll(async () => {
  deployment = await startDeployment();
  await startWatched();
});
afterAll(() => deployment[Symbol.asyncDispose]());
beforeEach(() => {
  reads = [];
});

async function startWatched(): Promise<void> {
  const worker = await deployment.startWorker();
  const query = worker.pool.query.bind(worker.pool) as (...all: unknown[]) => Promise<{ rows: unknown[] }>;
  const watching = async (...all: unknown[]) => {
    const result = await query(...all);
    const { name = '', values = [] } = all[0] as { name?: string; values?: unknown[] };
    if (['read_value', 'read_events'].includes(name))
      reads.push({ name, key: values[2], length: JSON.stringify(result.rows).length });
    return result;
  };
  Object.assign(worker.pool, { query: watching });
}

const LENGTH = 100_000;
/** Does not compress. */
const large = (name: string) => ({
  ...code(
    `let text = '${name}'; let seed = 1;
     while (text.length < ${LENGTH}) text += (seed = (seed * 48271) % 2147483647).toString(36);
     return { name: '${name}', text };`,
  ),
  outputVariable: name,
});
const question = { type: 'dataCollection', fields: [{ key: 'answer', fieldType: 'text' }] };
const end = (...values: string[]) => ({
  type: 'end',
  outputParameters: values.map((name) => ({ name, sourceVariable: `{{ctx.${name}}}` })),
});

async function begin(shape: ReturnType<typeof graph>, options: JsonObject = {}): Promise<string> {
  const versionID = await deployment.saveVersion(shape, options);
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  return instanceID;
}

async function untilWaiting(id: string): Promise<void> {
  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', held_by: null }));
}

async function answer(id: string): Promise<void> {
  await deployment.pool.query(
    `update collection_request set status = 'COMPLETED', submitted_data = '{"answer":"yes"}' where instance_id = $1 and status = 'PENDING'`,
    [id],
  );
  await deployment.runs.wake([id]);
}

async function untilCompleted(id: string) {
  await eventually(async () => expect((await deployment.read(id)).status).toBe('COMPLETED'));
  return deployment.read(id);
}

const askGraph = (later: string) =>
  graph(
    {
      start: { type: 'start' },
      a: large('a'),
      b: large('b'),
      ask: question,
      later: code(later, { outputVariable: 'result' }),
      end: end('result'),
    },
    ['start>a', 'a:success>b', 'b:success>ask', 'ask>later', 'later:success>end'],
  );

test('a run that goes on reads of its large outputs the one that its next node names, and a past of a few hundred bytes', async () => {
  const id = await begin(askGraph('return ctx.a.text.length;'));
  await untilWaiting(id);
  reads = [];
  await answer(id);

  const { output } = await untilCompleted(id);

  expect(output).toEqual({ result: expect.any(Number) });
  const [past, ...values] = reads;
  expect(past).toMatchObject({ name: 'read_events' });
  expect(past?.length).toBeLessThan(4_000);
  expect(values).toEqual([{ name: 'read_value', key: 'a', length: expect.any(Number) }]);
  expect(values[0]?.length).toBeGreaterThan(LENGTH);
});

test('rows have large outputs as before, and briefly beside that', async () => {
  const id = await begin(
    graph({ start: { type: 'start' }, a: large('a'), end: end('a') }, ['start>a', 'a:success>end']),
  );
  const { output } = await untilCompleted(id);

  const { rows } = await deployment.pool.query(
    'select node_id, payload, brief from run_event where instance_id = $1 and node_id is not null order by seq',
    [id],
  );

  const [, a, last] = rows;
  expect(a.payload.output.a).toEqual(output?.a);
  const text = JSON.stringify({ a: output?.a, success: true });
  expect(a.brief).toEqual({
    large: { name: 'a', keys: ['a'], length: text.length, preview: expect.stringMatching(/^\{"a":\{.{190,}$/) },
  });
  // The output of an end is the result of the run, which is in memory.
  expect(last).toMatchObject({ node_id: 'end', brief: null });
});

test('nodes of one run in a worker with room read nothing', async () => {
  await using service = await startHTTP();
  const call = { type: 'http', method: 'POST', url: service.origin, body: { of: '{{ctx.a.name}}' } };
  const pure = { type: 'set', assignments: [{ name: 'copy', value: '{{ctx.a.text}}' }], outputVariable: 'values' };
  const id = await begin(
    graph({ start: { type: 'start' }, a: large('a'), call, pure, end: end('values.copy') }, [
      'start>a',
      'a:success>call',
      'call:success>pure',
      'pure>end',
    ]),
  );

  const { output } = await untilCompleted(id);

  expect(Object.values(output ?? {})).toEqual([expect.stringMatching(/^a.{99999,}$/)]);
  expect(reads).toEqual([]);
});

test('code that may read all of ctx gets every value, and keys that the values of a node have set', async () => {
  const shape = graph(
    {
      start: { type: 'start' },
      a: large('a'),
      spread: { type: 'set', assignments: [{ name: 'x', value: '{{ctx.a.text}}' }], outputVariable: 'values' },
      ask: question,
      all: {
        ...code('return Object.keys(ctx).map((key) => [key, JSON.stringify(ctx[key]).length]);'),
        outputVariable: 'all',
      },
      one: { type: 'set', assignments: [{ name: 'length', value: '{{ctx.x}}' }], outputVariable: 'copy' },
      end: end('all', 'length'),
    },
    ['start>a', 'a:success>spread', 'spread>ask', 'ask>all', 'all:success>one', 'one>end'],
  );
  const id = await begin(shape);
  await untilWaiting(id);
  reads = [];
  await answer(id);

  const { output } = await untilCompleted(id);

  const { length } = JSON.stringify(output?.length);
  const lengths = Object.fromEntries(output?.all as [string, number][]);
  expect(lengths).toMatchObject({
    x: length,
    a: length + '{"name":"a","text":}'.length,
    values: length + '{"x":}'.length,
  });
  expect(reads.flatMap(({ name, key }) => (name === 'read_value' ? [key] : []))).toEqual(['a', 'values']);
});

test('outputs that an earlier version has written are offloaded as well', async () => {
  const id = await begin(askGraph('return ctx.b.text.length;'));
  await untilWaiting(id);
  await deployment.pool.query('update run_event set brief = null where instance_id = $1', [id]);
  reads = [];
  await answer(id);

  await untilCompleted(id);

  expect(reads.map(({ name, key }) => [name, key])).toContainEqual(['read_value', 'b']);
});

test('a map gives its chunks the large values that its body names, nested bodies included, and no others', async () => {
  const id = await begin(
    graph(
      {
        start: { type: 'start' },
        a: large('a'),
        b: large('b'),
        each: { type: 'map', sourceVariable: [1, 2] },
        inner: { type: 'loop', sourceVariable: [3] },
        work: code('return ctx.b.text.length + ctx.item;'),
        end: end('mapResults'),
      },
      ['start>a', 'a:success>b', 'b:success>each', 'each:map>inner', 'inner:loop>work', 'each:completed>end'],
    ),
  );

  const { output } = await untilCompleted(id);

  expect(JSON.stringify(output?.mapResults)).toMatch(/\d{6}/);
  const { rows } = await deployment.pool.query('select scope from run_map where instance_id = $1', [id]);
  expect(Object.keys(rows[0].scope)).not.toContain('a');
  expect(rows[0].scope.b.name).toBe('b');
});

test('a value is found by the key of its row, also in a plan from a time when there were no rows', async () => {
  const client = await deployment.pool.connect();
  try {
    await client.query('begin');
    await client.query('delete from run_event');
    await client.query('analyze run_event');
    const { rows } = await client.query(`explain (generic_plan) ${VALUE}`);
    expect(rows.map((row) => row['QUERY PLAN']).join()).toMatch(
      /using run_event_pkey.*Index Cond: \(\(instance_id = \$1\) AND \(seq = \$2\)\)/,
    );
    await client.query('rollback');
  } finally {
    client.release();
  }
});

test('a worker without room for two runs takes one after the other, hands back, and ends them all', async () => {
  await using small = await startDeployment({ HELD_RUNS_MAX_BYTES: '150000', WORKER_SLOTS: '4' });
  const worker = await small.startWorker();
  // Each below what is kept apart, and together more than the worker may hold.
  const part = (name: string) => ({ ...code(`return '${name}'.repeat(50_000);`), outputVariable: name });
  const shape = graph(
    {
      start: { type: 'start' },
      a: part('a'),
      b: part('b'),
      c: part('c'),
      d: part('d'),
      sum: code('return ctx.a.length + ctx.d.length;'),
      end: end('scriptResult'),
    },
    ['start>a', 'a:success>b', 'b:success>c', 'c:success>d', 'd:success>sum', 'sum:success>end'],
  );
  const versionID = await small.saveVersion(shape);
  const ids = await small.runs.acceptMany(Array.from({ length: 6 }, () => small.newRun(versionID)));

  let most = 0;
  const looking = setInterval(() => {
    most = Math.max(most, worker.engine.stats.residentLength);
  }, 1);
  await eventually(async () => {
    for (const id of ids) expect((await small.read(id)).status).toBe('COMPLETED');
  }).finally(() => clearInterval(looking));

  const rows = await Promise.all(ids.map((id) => small.read(id)));
  expect(rows.map(({ output }) => output)).toEqual(ids.map(() => ({ scriptResult: 100_000 })));
  // Two runs have room for an output each. One that has less than its share, or is alone, goes on to its 200,000.
  expect(most).toBeLessThan(300_000);
  expect(worker.engine.stats.residentLength).toBe(0);
});
