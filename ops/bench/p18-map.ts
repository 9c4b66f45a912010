import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { newID } from '#shared/core/ids.ts';
import { type BenchEnvironment, percentile } from './environment.ts';
import type { Figure, Row } from './row.ts';
import { spending } from './spending.ts';

const ITEMS = Number(process.env.P18_ITEMS ?? 100_000);
/** Iterations of the loop that is the floor. */
const LOOPED = Math.min(ITEMS, 10_000);
const CONCURRENCY = 50;
const TIMEOUT_MS = 600_000;
/** Between two runs of the stranger. */
const EVERY_MS = 250;
const START_MARK_MS = 1_000;

/**
 * A map of 100,000 items, one worker. The first figure is its items in a second, beside those of a loop over fewer items with the same
 * body, in the same environment; with processor time for an item, rows, and the memory of the worker. The second is what a no-op of
 * another tenant waits beside it until it has ended.
 */
export const p18: Row = async (environment) => {
  const pid = await environment.startWorker({ SANDBOX_PROCESSES: '1' });
  const looped = await timed(environment, await body(environment, 'loop', { maxIterations: LOOPED }), LOOPED);
  const before = await memoryOf(pid);
  const peak = watch(() => memoryOf(pid));
  const spent = await spending({ worker: pid, ...environment.pids });
  const stranger = beside(environment);
  const mapped = await timed(environment, await body(environment, 'map', { concurrency: CONCURRENCY }), ITEMS);
  const waits = await stranger.end();
  const msEach = await spent(ITEMS);
  const settings = { ...(await environment.settings()), items: ITEMS, concurrency: CONCURRENCY };
  const perSecond = ITEMS / mapped.seconds;
  const floor = LOOPED / looped.seconds;
  return [
    {
      figure: `a map of ${ITEMS} items`,
      value: Math.round(perSecond),
      unit: 'items/s',
      floor: Math.round(floor),
      ratio: Number((perSecond / floor).toFixed(3)),
      settings: {
        ...settings,
        seconds: Number(mapped.seconds.toFixed(1)),
        msEach,
        loopMsEach: looped.msEach,
        rows: await rowsOf(environment, mapped.id),
        workerMB: { before, peak: await peak.end() },
      },
    },
    presentWaits(waits, settings),
  ];
};

function presentWaits(waits: readonly number[], settings: Record<string, unknown>): Figure {
  const [p50, p99, max] = [percentile(waits, 50), percentile(waits, 99), Math.max(...waits)].map(Math.round);
  return {
    figure: 'a no-op of a stranger beside it: p99',
    value: p99 ?? 0,
    unit: 'ms',
    floor: START_MARK_MS,
    ratio: Number(((p99 ?? 0) / START_MARK_MS).toFixed(3)),
    settings: { ...settings, runs: waits.length, p50, p99, max },
  };
}

const noop = {
  id: 'each',
  type: 'condition',
  data: { branches: [{ id: 'yes', conditions: [{ operator: 'equals', leftValue: 1, rightValue: 1 }] }] },
};

/** The version of a workflow that repeats one no-op. */
function body({ saveGraph }: BenchEnvironment, type: 'loop' | 'map', more: object): Promise<string> {
  const repeating = { id: 'repeat', type, data: { sourceVariable: '{{ctx.input.items}}', ...more } };
  return saveGraph(
    [{ id: 'start', type: 'start', data: {} }, repeating, noop],
    [
      { id: 'in', source: 'start', target: 'repeat', sourceHandle: 'output' },
      { id: 'body', source: 'repeat', target: 'each', sourceHandle: type },
    ],
  );
}

async function timed(environment: BenchEnvironment, versionID: string, count: number) {
  const { pids } = environment;
  const spent = await spending(pids);
  const began = performance.now();
  const items = Array.from({ length: count }, (_, index) => index);
  const id = await accept(environment, { tenantID: environment.tenantID, versionID, input: { items } });
  await ended(environment, id);
  return { id, seconds: (performance.now() - began) / 1000, msEach: await spent(count) };
}

async function accept(
  { runs }: BenchEnvironment,
  { tenantID, versionID, input }: { tenantID: string; versionID: string; input: { items?: number[] } },
): Promise<string> {
  const caller = { type: 'system', id: tenantID, origin: 'direct' } as const;
  const run = { tenantID, workflowID: null, versionID, caller, input, timeoutMs: 3_600_000 };
  return (await runs.accept(run)).instanceID;
}

async function ended({ pool }: BenchEnvironment, id: string): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const { rows } = await pool.query<{ status: string; error: unknown }>(
      'select status, error from workflow_instance where id = $1 and completed_at is not null',
      [id],
    );
    if (rows[0]?.status === 'COMPLETED') return;
    if (rows[0]) throw new Error(`The run is ${rows[0].status}: ${JSON.stringify(rows[0].error)}`);
    if (Date.now() > deadline) throw new Error(`The run has not ended within ${TIMEOUT_MS / 1000} s`);
    await sleep(50);
  }
}

/** Starts no-ops of a further tenant until the end; answers how long each took from its acceptance to its end, in ms. */
function beside(environment: BenchEnvironment) {
  const { pool, saveGraph } = environment;
  const tenantID = newID();
  let isOver = false;
  const running = (async () => {
    await pool.query('insert into tenant (id, tenant_title, creator_id) values ($1, $2, $3)', [
      tenantID,
      'stranger',
      newID(),
    ]);
    const versionID = await saveGraph(
      [{ id: 'start', type: 'start', data: {} }, noop],
      [{ id: 'e', source: 'start', target: 'each', sourceHandle: 'output' }],
    );
    let last = '';
    while (!isOver) {
      last = await accept(environment, { tenantID, versionID, input: {} });
      await sleep(EVERY_MS);
    }
    if (last) await ended(environment, last);
    const { rows } = await pool.query<{ ms: number }>(
      `select extract(epoch from completed_at - created_at)::float8 * 1000 as ms from workflow_instance
       where version_id = $1 and completed_at is not null`,
      [versionID],
    );
    return rows.map(({ ms }) => ms);
  })();
  return {
    end() {
      isOver = true;
      return running;
    },
  };
}

/** Rows that the run and its chunks have. */
async function rowsOf({ pool }: BenchEnvironment, id: string) {
  const { rows } = await pool.query(
    `with tree as (select id from workflow_instance where id = $1 or parent_id = $1)
     select (select count(*)::int from tree) as runs, (select count(*)::int from run_event where instance_id in (select id from tree)) as events,
       (select count(*)::int from map_chunk c join run_map m on m.id = c.map_id where m.instance_id = $1) as chunks`,
    [id],
  );
  return rows[0];
}

/** Resident memory in MB; null where the system does not tell. */
async function memoryOf(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, kB] = /^VmRSS:\s+(\d+)/m.exec(status) ?? [];
  return kB === undefined ? null : Math.round(Number(kB) / 1024);
}

/** The most that a reading gives until the end. */
function watch(read: () => Promise<number | null>) {
  let most: number | null = null;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most ?? 0, (await read()) ?? 0) || null;
      await sleep(200);
    }
  })();
  return {
    async end() {
      isOver = true;
      await watching;
      return most;
    },
  };
}
