import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { newID } from '#shared/core/ids.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import { compileGraph, type GraphNode, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { code, graph } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { readMapResults } from '#workers/engine/maps/map-results.ts';
import { createMaps, type Maps } from '#workers/engine/maps/maps.ts';
import { createReadChunk } from '#workers/engine/maps/read-chunk.ts';
import type { MapOutcome } from '#workers/nodes/executor.ts';

const start = { type: 'start' };
const map = (more: object = {}) => ({ type: 'map', sourceVariable: '{{ctx.input.items}}', ...more });
const end = { type: 'end', outputParameters: [{ name: 'value', sourceVariable: '{{ctx.mapResults}}' }] };

/** Counters of maps without a worker: chunks are ended by hand. */
describe('the counters of a map', () => {
  let deployment: Deployment;
  let maps: Maps;
  beforeAll(async () => {
    deployment = await startDeployment();
    const { pool, runs } = deployment;
    maps = createMaps({ pool, runs: { ...runs, dispatch: async () => undefined }, logger: testLogger });
  });
  afterAll(() => deployment[Symbol.asyncDispose]());

  interface Planned {
    sizes: number[];
    concurrency: number;
    tolerated: number | null;
  }

  /** A run that waits for a map, as its commit leaves it. */
  async function begin({ sizes, concurrency, tolerated }: Planned): Promise<{ id: string; mapID: string }> {
    const { pool, tenantID } = deployment;
    const [id, mapID] = [newID(), newID()];
    await pool.query(
      `insert into workflow_instance (id, tenant_id, version_id, status, started_at, deadline_at, caller, seq, epoch)
       values ($1, $2, $3, 'WAITING', now(), now() + interval '1 hour', '{}', 3, 1)`,
      [id, tenantID, newID()],
    );
    await pool.query(`insert into run_wait (instance_id, node_id, kind, ref) values ($1, 'map', 'chunks', $2)`, [
      id,
      mapID,
    ]);
    const plan = { failsFast: tolerated === 0, tolerated, collectResults: true, concurrency };
    await pool.query(
      `insert into run_map (id, instance_id, node_id, path, attempt, plan, scope, items, chunks, concurrency, tolerated, max_result_size)
       values ($1, $2, 'map', '0', 1, $3, '{}', $4, $5, $6, $7, 100000)`,
      [mapID, id, plan, sizes.reduce((sum, n) => sum + n, 0), sizes.length, concurrency, tolerated],
    );
    let first = 0;
    for (const [index, size] of sizes.entries()) {
      await pool.query(`insert into map_chunk (map_id, n, first, size, items) values ($1, $2, $3, $4, '[]')`, [
        mapID,
        index + 1,
        first,
        size,
      ]);
      first += size;
    }
    return { id, mapID };
  }

  interface OpenChunk {
    id: string;
    n: number;
    first: number;
    size: number;
  }

  async function openChunks(mapID: string): Promise<OpenChunk[]> {
    const { rows } = await deployment.pool.query<OpenChunk>(
      `select i.id, c.n, c.first, c.size from map_chunk c join workflow_instance i on i.id = c.instance_id
       where c.map_id = $1 and i.completed_at is null order by c.n`,
      [mapID],
    );
    return rows;
  }

  async function end(id: string, status: string, output: JsonObject | null): Promise<void> {
    await deployment.pool.query(
      `update workflow_instance set status = $2::text, output = $3, completed_at = now(), ready_at = null,
         error = case when $2::text = 'FAILED' then '{"code":"NODE_FAILED","message":"no"}'::jsonb end where id = $1`,
      [id, status, output],
    );
  }

  async function countersOf(mapID: string) {
    const { rows } = await deployment.pool.query<{
      started: number;
      ended: number;
      done_items: number;
      failed_items: number;
      outcome: MapOutcome | null;
    }>('select started, ended, done_items, failed_items, outcome from run_map where id = $1', [mapID]);
    const [counters] = rows;
    if (!counters) throw new Error('No map');
    return counters;
  }

  const drawn = fc.record({
    /** Chunks: their items, and how many of them fail. */
    chunks: fc.array(
      fc
        .tuple(fc.integer({ min: 1, max: 3 }), fc.nat(2))
        .map(([size, failed]) => [size, Math.min(size, failed)] as const),
      { minLength: 1, maxLength: 7 },
    ),
    concurrency: fc.integer({ min: 1, max: 3 }),
    tolerated: fc.option(fc.nat(4)),
    /** Which open chunks end next, how many at once, and how often the counting is asked for. */
    order: fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 2 }), fc.nat(2)), { minLength: 1, maxLength: 12 }),
  });

  interface Drawn {
    chunks: (readonly [size: number, failed: number])[];
    concurrency: number;
    tolerated: number | null;
    order: (readonly [pick: number, together: number, counts: number])[];
  }

  /** Ends chunks until the map is over. Returns what its items give, in their order. */
  async function play(mapID: string, { chunks, concurrency, order }: Drawn): Promise<string[]> {
    const wanted = chunks.flatMap(([size], at) => Array.from({ length: size }, (_, k) => `${at}.${k}`));
    await maps.advance(mapID);
    for (let at = 0; (await countersOf(mapID)).outcome === null; at += 1) {
      const open = await openChunks(mapID);
      expect(open.length).toBeGreaterThan(0);
      expect(open.length).toBeLessThanOrEqual(concurrency);
      const [pick = 0, together = 1, counts = 0] = order[at % order.length] ?? [];
      const from = pick % open.length;
      for (const chunk of [...open, ...open].slice(from, from + Math.min(together, open.length))) {
        const results = wanted.slice(chunk.first, chunk.first + chunk.size);
        await end(chunk.id, 'COMPLETED', { results, failed: chunks[chunk.n - 1]?.[1] ?? 0, size: 10 });
      }
      // Once, or several times at once by different processes.
      const others = Array.from({ length: counts }, () => createMaps({ ...deployment, logger: testLogger }));
      await Promise.all([maps, ...others].map((each) => each.advance(mapID)));
    }
    return wanted;
  }

  test('in any order of ends, and however often they are counted, come to the same', async () => {
    const outcomes: (string | null)[] = [];
    await fc.assert(
      fc.asyncProperty(drawn, async (plan) => {
        const { chunks, concurrency, tolerated } = plan;
        const { id, mapID } = await begin({ sizes: chunks.map(([size]) => size), concurrency, tolerated });
        const wanted = await play(mapID, plan);

        const { outcome, failed_items, started, ended } = await countersOf(mapID);
        outcomes.push(outcome);
        const all = chunks.reduce((sum, [, failed]) => sum + failed, 0);
        expect(outcome).toBe(tolerated === null || all <= tolerated ? 'done' : 'failed');
        expect(await deployment.read(id)).toMatchObject({ wake_seq: 1, ready_at: expect.any(Date) });
        if (outcome === 'failed') return;
        const { length } = chunks;
        expect({ started, ended, failed_items }).toEqual({ started: length, ended: length, failed_items: all });
        const { results } = await readMapResults(deployment.pool, { kind: 'chunks', mapID, outcome: 'done' }, mapNode);
        expect(results).toEqual(wanted);
      }),
      { numRuns: 25, seed: 3 },
    );
    expect(new Set(outcomes)).toEqual(new Set(['done', 'failed']));
  });

  const shape = graph({ start, map: map(), each: code('return 1') }, ['start>map', 'map:map>each']);
  const whole = runSync(compileGraph(WorkflowNode.array().parse(shape.nodes), WorkflowEdge.array().parse(shape.edges)));
  const mapNode = { graph: whole, node: whole.nodes[1] as GraphNode };

  /** An outcome of the body in a chunk, as the engine writes it; also the start of the next item. */
  async function recordItem(id: string, n: number, payload: JsonObject, { begins }: { begins?: number } = {}) {
    const path = (iteration: number) => [{ nodeID: 'map', iteration }];
    const started = begins === undefined ? null : JSON.stringify([{ nodeID: 'each', frame: path(begins) }]);
    await deployment.pool.query(
      `insert into run_event (instance_id, seq, node_id, iteration, attempt, status, exit, payload, frame, started)
       values ($1, $2, 'each', $3, 1, $4, $5, $6, $7, $8)`,
      [
        id,
        2 * n + 2,
        n,
        payload.failsItem ? 'FAILED' : 'SUCCESS',
        payload.failsItem ? null : 'success',
        payload,
        JSON.stringify(path(n)),
        started,
      ],
    );
  }

  test('give the items of a failed chunk that had not ended its error, and count them beside those that failed', async () => {
    const { mapID } = await begin({ sizes: [1, 4], concurrency: 2, tolerated: 3 });
    await maps.advance(mapID);
    const [first, second] = await openChunks(mapID);
    await recordItem(second?.id ?? '', 1, { output: { scriptResult: 'b', success: true } });
    const error = { code: 'NODE_FAILED', message: 'of the item' };
    await recordItem(second?.id ?? '', 2, { error, failsItem: true }, { begins: 3 });
    await end(second?.id ?? '', 'FAILED', null);
    await end(first?.id ?? '', 'COMPLETED', { results: ['a'], failed: 0, size: 3 });

    await maps.advance(mapID);

    expect(await countersOf(mapID)).toMatchObject({ failed_items: 3, done_items: 5, outcome: 'done' });
    const failed = { success: false, error: { code: 'NODE_FAILED', message: 'no' } };
    const { results } = await readMapResults(deployment.pool, { kind: 'chunks', mapID, outcome: 'done' }, mapNode);
    expect(results).toEqual(['a', 'b', { success: false, error }, failed, failed] as Json[]);
  });

  test('give the items of a chunk that has failed before its first its error, and count them all', async () => {
    const { mapID } = await begin({ sizes: [1, 3], concurrency: 2, tolerated: 3 });
    await maps.advance(mapID);
    const [first, second] = await openChunks(mapID);
    await end(second?.id ?? '', 'FAILED', null);
    await end(first?.id ?? '', 'COMPLETED', { results: ['a'], failed: 0, size: 3 });

    await maps.advance(mapID);

    expect(await countersOf(mapID)).toMatchObject({ failed_items: 3, done_items: 4, outcome: 'done' });
    const failed = { success: false, error: { code: 'NODE_FAILED', message: 'no' } };
    const { results } = await readMapResults(deployment.pool, { kind: 'chunks', mapID, outcome: 'done' }, mapNode);
    expect(results).toEqual(['a', failed, failed, failed] as Json[]);
  });

  test('are advanced by the sweep when the process that ended a chunk, or began a map, has died', async () => {
    const { id, mapID } = await begin({ sizes: [1], concurrency: 1, tolerated: 0 });
    await deployment.pool.query(`update run_map set created_at = now() - interval '3 seconds' where id = $1`, [mapID]);
    expect(await maps.advanceForgotten()).toBe(1);
    const [chunk] = await openChunks(mapID);
    await end(chunk?.id ?? '', 'COMPLETED', { results: [1], failed: 0, size: 1 });
    expect(await maps.advanceForgotten()).toBe(0);
    await deployment.pool.query(`update map_chunk set ended_at = now() - interval '3 seconds' where map_id = $1`, [
      mapID,
    ]);

    expect(await maps.advanceForgotten()).toBe(1);

    expect(await countersOf(mapID)).toMatchObject({ outcome: 'done' });
    expect(await deployment.read(id)).toMatchObject({ wake_seq: 1, ready_at: expect.any(Date) });
    expect(await maps.advanceForgotten()).toBe(0);
  });

  test('are told in an event at most once a second, and not while a worker owns the run', async () => {
    const { pool } = deployment;
    const { id, mapID } = await begin({ sizes: [2, 2, 2, 2], concurrency: 1, tolerated: null });
    await maps.advance(mapID);
    const endOne = async ({ isDue = true, heldBy = null as string | null }) => {
      const [chunk] = await openChunks(mapID);
      await end(chunk?.id ?? '', 'COMPLETED', { results: [1, 2], failed: 1, size: 3 });
      if (isDue)
        await pool.query(`update run_map set reported_at = now() - interval '2 seconds' where id = $1`, [mapID]);
      await pool.query('update workflow_instance set held_by = $2 where id = $1', [id, heldBy]);
      await maps.advance(mapID);
    };

    await endOne({ isDue: false });
    await endOne({});
    await endOne({ heldBy: newID() });

    const { rows } = await pool.query('select seq, node_id, status, payload from run_event where instance_id = $1', [
      id,
    ]);
    const progress = { done: 4, total: 8, failed: 2 };
    const payload = { wait: 'chunks', mapID, progress, stillWaits: true };
    expect(rows).toEqual([{ seq: 4, node_id: 'map', status: 'SUSPENDED', payload }]);
    expect(await deployment.read(id)).toMatchObject({ seq: 4, status: 'WAITING' });
  });

  test('start nothing once they have failed: the chunks under way are stopped, and their ends are counted', async () => {
    const { id, mapID } = await begin({ sizes: [1, 1, 1, 1, 1], concurrency: 2, tolerated: 0 });
    await maps.advance(mapID);
    const [first, second] = await openChunks(mapID);
    await end(first?.id ?? '', 'COMPLETED', { results: ['no'], failed: 1, size: 1 });
    // The other chunk ends by itself before it is stopped.
    await end(second?.id ?? '', 'COMPLETED', { results: ['b'], failed: 0, size: 1 });

    await maps.advance(mapID);
    await maps.advance(mapID);

    expect(await openChunks(mapID)).toEqual([]);
    expect(await countersOf(mapID)).toMatchObject({ started: 2, ended: 2, failed_items: 1, outcome: 'failed' });
    expect(await deployment.read(id)).toMatchObject({ wake_seq: 1 });
  });

  test('start nothing when a chunk ends after they have failed', async () => {
    const { mapID } = await begin({ sizes: [1, 1, 1, 1, 1], concurrency: 2, tolerated: 0 });
    await maps.advance(mapID);
    const [first, second] = await openChunks(mapID);
    await end(first?.id ?? '', 'COMPLETED', { results: ['no'], failed: 1, size: 1 });
    // The process dies before it stops the other chunk.
    const dying = { ...deployment.runs, end: () => Promise.reject(new Error('died')) };
    await createMaps({ ...deployment, runs: dying, logger: testLogger }).advance(mapID);
    await end(second?.id ?? '', 'COMPLETED', { results: ['b'], failed: 0, size: 1 });

    await maps.advance(mapID);

    expect(await openChunks(mapID)).toEqual([]);
    expect(await countersOf(mapID)).toMatchObject({ started: 2, ended: 2, outcome: 'failed' });
  });

  test('start nothing for a run that has ended, and forget it', async () => {
    const { id, mapID } = await begin({ sizes: [1, 1, 1], concurrency: 1, tolerated: 0 });
    await maps.advance(mapID);
    await deployment.runs.stop(deployment.tenantID, id);
    await deployment.pool.query(
      `update map_chunk set ended_at = now() - interval '3 seconds' where map_id = $1 and n = 1`,
      [mapID],
    );

    expect(await maps.advanceForgotten()).toBe(1);

    expect(await openChunks(mapID)).toEqual([]);
    expect(await countersOf(mapID)).toMatchObject({ started: 1, ended: 1, failed_items: 0, outcome: 'stopped' });
    expect(await maps.advanceForgotten()).toBe(0);
  });

  test('read, beside many chunks, only those of what they do; also with plans of an empty table', async () => {
    const { pool } = deployment;
    const { mapID } = await begin({ sizes: [1], concurrency: 1, tolerated: 0 });
    await pool.query(
      `insert into map_chunk (map_id, n, first, size, items) select $1, n, n, 1, '[]' from generate_series(2, 5000) n`,
      [mapID],
    );
    await pool.query('update run_map set chunks = 5000 where id = $1', [mapID]);
    const explained: [name: string, rows: number][] = [];
    const own = createMaps({
      pool: explainedTransactions(pool, explained),
      runs: { ...deployment.runs, dispatch: async () => undefined },
      logger: testLogger,
    });

    await own.advance(mapID);
    await pool.query('vacuum analyze map_chunk, run_map, workflow_instance');
    const [chunk] = await openChunks(mapID);
    await end(chunk?.id ?? '', 'COMPLETED', { results: [1], failed: 0, size: 1 });
    await own.advance(mapID);

    const each = ['lock_map', 'count_chunks', 'start_chunks'];
    expect(explained.map(([name]) => name)).toEqual([...each, ...each]);
    expect(explained.filter(([, rows]) => rows > 50)).toEqual([]);
    expect((await openChunks(mapID)).map(({ n }) => n)).toEqual([2]);
  });

  test('start chunks that read what is around the map once for all of them', async () => {
    const { mapID } = await begin({ sizes: Array.from({ length: 20 }, () => 1), concurrency: 20, tolerated: 0 });
    await maps.advance(mapID);
    const read: string[] = [];
    const readChunk = createReadChunk(noted(deployment.pool, read));

    const chunks = await Promise.all((await openChunks(mapID)).map(({ id }) => readChunk({ id, map_id: mapID })));

    expect(chunks.map(({ first, nodeID }) => [first, nodeID])).toEqual(chunks.map((_, at) => [at, 'map']));
    expect(read.filter((name) => name === 'read_map')).toHaveLength(1);
  });
});

/** Notes the name of each statement. */
function noted(pool: Pool, names: string[]): Pool {
  const query = pool.query.bind(pool) as (statement: { name: string }) => Promise<unknown>;
  return new Proxy(pool, {
    get: (target, key) =>
      key === 'query'
        ? (statement: { name: string }) => {
            names.push(statement.name);
            return query(statement);
          }
        : Reflect.get(target, key, target),
  });
}

/** Explains each statement of a transaction before it is executed, and notes what the plan has read. */
function explainedTransactions(pool: Pool, explained: [name: string, rows: number][]): Pool {
  async function connect() {
    const client = await pool.connect();
    const query = client.query.bind(client) as (...all: unknown[]) => Promise<{ rows: object[] }>;
    return new Proxy(client, {
      get(target, key) {
        if (key !== 'query') return Reflect.get(target, key, target);
        return async (statement: string | { name: string; text: string; values?: unknown[] }) => {
          if (typeof statement === 'string') return query(statement);
          await query('savepoint explained');
          const { rows } = await query(`explain (analyze, format json) ${statement.text}`, statement.values);
          await query('rollback to explained');
          explained.push([statement.name, rowsRead(rows)]);
          return query(statement);
        };
      },
    });
  }
  return new Proxy(pool, { get: (target, key) => (key === 'connect' ? connect : Reflect.get(target, key, target)) });
}

interface PlanNode {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

function rowsRead(rows: object[]): number {
  const [row] = rows as { 'QUERY PLAN': { Plan: PlanNode }[] }[];
  const count = (node: PlanNode): number =>
    (node['Relation Name'] ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'] : 0) +
    (node.Plans ?? []).reduce((sum, inner) => sum + count(inner), 0);
  const plan = row?.['QUERY PLAN'][0]?.Plan;
  return plan ? count(plan) : 0;
}

describe('a map with workers', () => {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2', OUTBOUND_ALLOW: '127.0.0.0/8' });
  });
  afterAll(() => deployment[Symbol.asyncDispose]());

  async function ended(id: string) {
    await eventually(async () => expect((await deployment.read(id)).status).toMatch(/^(COMPLETED|FAILED|CANCELLED)$/));
    return deployment.read(id);
  }

  test('goes on when a worker is killed amid its chunks, and calls with the same keys', async () => {
    const keys = new Map<string, number>();
    const waiting: (() => void)[] = [];
    let holds = true;
    let [open, most] = [0, 0];
    await using server = await startHTTP((request, response) => {
      const key = String(request.headers['idempotency-key']);
      keys.set(key, (keys.get(key) ?? 0) + 1);
      open += 1;
      most = Math.max(most, open);
      const answer = () => {
        open -= 1;
        response.end('{}');
      };
      // The first chunks get through a few items, then the worker hangs amid them.
      if (holds && keys.size > 4) waiting.push(answer);
      else answer();
    });
    const shape = graph(
      {
        start,
        map: map({ concurrency: 3, chunkSize: 2 }),
        call: { type: 'http', method: 'POST', url: server.origin },
        each: code('return "r" + ctx.item'),
        end,
      },
      ['start>map', 'map:map>call', 'call:success>each', 'map:completed>end'],
    );
    const versionID = await deployment.saveVersion(shape);
    const items = Array.from({ length: 11 }, (_, index) => index);
    const { instanceID: id } = await deployment.runs.accept(deployment.newRun(versionID, { items }));
    {
      await using worker = spawnNode(['workers/main.ts', 'workflow.runs'], deployment.env);
      await eventually(() => expect(waiting.length).toBeGreaterThanOrEqual(3));
      await worker.kill('SIGKILL');
    }
    holds = false;
    open = 0;
    const worker = await deployment.startWorker();

    expect(await ended(id)).toMatchObject({ status: 'COMPLETED', output: { value: items.map((item) => `r${item}`) } });
    // Only what was in flight is called again, with the same key.
    expect(keys.size).toBe(items.length);
    expect([...keys.values()].filter((times) => times > 2)).toEqual([]);
    expect([...keys.values()].filter((times) => times === 2)).toHaveLength(waiting.length);
    expect(most).toBe(3);
    const { rows } = await deployment.pool.query('select due from map_chunk where due is not null');
    expect(rows).toEqual([]);
    await worker[Symbol.asyncDispose]();
  });

  test('waits for no place that its own run, or a run above, has: with one slot, and limits of one of every kind', async () => {
    await deployment.pool.query(
      'insert into tenant_dispatch (tenant_id, max_runs) values ($1, 1) on conflict (tenant_id) do update set max_runs = 1',
      [deployment.tenantID],
    );
    await using _worker = await deployment.startWorker({ WORKER_SLOTS: '1' });
    const key = { key: 'k', limit: 1, scope: 'tenant' };
    const limits = { concurrency: key, maxRunsAtOnce: 1, rate: { limit: 1, per: 'day' } };
    const child = await deployment.saveWorkflow(
      graph({ start, end: { type: 'end', outputParameters: [{ name: 'got', sourceVariable: '{{ctx.input.n}}' }] } }, [
        'start>end',
      ]),
      { concurrency: key },
    );
    const shape = graph(
      {
        start,
        map: map({ concurrency: 2, outputVariable: 'outer' }),
        inner: map({ sourceVariable: '{{ctx.item}}' }),
        sub: { type: 'subWorkflow', childWorkflowID: child.workflowID, inputMapping: { n: '{{ctx.item}}' } },
        end: { type: 'end', outputParameters: [{ name: 'value', sourceVariable: '{{ctx.outer}}' }] },
      },
      ['start>map', 'map:map>inner', 'inner:map>sub', 'map:completed>end'],
    );
    const { workflowID, versionID } = await deployment.saveWorkflow(shape, limits);
    const governed = {
      limits: {
        runs: 1,
        rate: { limit: 1, seconds: 86_400 },
        key: { value: ':k', limit: 1, onLimit: 'queue' as const },
      },
    };
    const { instanceID: id } = await deployment.runs.accept(
      deployment.newRun(versionID, { items: [[1, 2], [3]] }, { workflowID, ...governed }),
    );

    expect(await ended(id)).toMatchObject({
      status: 'COMPLETED',
      output: { value: [[{ got: 1 }, { got: 2 }], [{ got: 3 }]] },
    });
    const { rows } = await deployment.pool.query<{ keys: string[]; n: number }>(
      `select held_keys as keys, count(*)::int as n from workflow_instance where id <> $1 and id > $1 group by 1`,
      [id],
    );
    expect(new Set(rows.flatMap(({ keys }) => keys))).toEqual(new Set([':k']));
  });
});
