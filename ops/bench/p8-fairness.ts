import { setTimeout as sleep } from 'node:timers/promises';
import { newID } from '#shared/core/ids.ts';
import { type BenchEnvironment, noopChain, percentile } from './environment.ts';
import type { Row } from './row.ts';

const FLOOD = Number(process.env.P8_FLOOD ?? 100_000);
const SAMPLES = 100;
/** A run that others wait for yields after a second. */
const QUANTUM_MS = 1_000;
/** The time of each run of the flood, so that it outlasts the samples. */
const NODE_MS = 200;

/** Tenant A queues 100,000 runs; then tenant B submits one at a time. How long after its acceptance does it begin? */
export const p8: Row = async (environment) => {
  const { pool, tenantID } = environment;
  const noop = noopChain(1);
  const quick = await environment.saveGraph(noop.nodes, noop.edges);
  const slow = await environment.saveGraph(
    [
      { id: 'start', type: 'start', data: {} },
      { id: 'wait', type: 'delay', data: { delayMs: NODE_MS } },
    ],
    [{ id: 'e', source: 'start', target: 'wait', sourceHandle: 'output' }],
  );
  const other = newID();
  await pool.query('insert into tenant (id, tenant_title, creator_id) values ($1, $2, $3)', [other, 'B', newID()]);
  await environment.startWorker();

  await startLatencies(environment, { tenantID: other, versionID: quick, count: 10 });
  const idle = await startLatencies(environment, { tenantID: other, versionID: quick, count: SAMPLES });
  await pool.query(INSERT_FLOOD, [tenantID, slow, FLOOD]);
  await environment.runs.dispatchQueued().catch(() => undefined);
  await sleep(2_000);
  const flooded = await startLatencies(environment, { tenantID: other, versionID: quick, count: SAMPLES });
  const { rows } = await pool.query<{ left: number; window: number }>(
    `select count(*)::int as left, count(*) filter (where dispatched_at is not null or held_by is not null)::int as window
     from workflow_instance where tenant_id = $1 and completed_at is null`,
    [tenantID],
  );
  const [{ left = 0, window = 0 } = {}] = rows;
  if (left < FLOOD / 2) throw new Error(`Of the flood only ${left} runs are left: it ended too soon`);

  const bound = 2 * percentile(idle, 99) + QUANTUM_MS;
  const p99 = percentile(flooded, 99);
  return [
    {
      value: Number((p99 / bound).toFixed(3)),
      unit: 'of the bound',
      floor: 1,
      ratio: Number((p99 / bound).toFixed(3)),
      settings: {
        ...(await environment.settings()),
        idleMs: { p50: percentile(idle, 50), p99: percentile(idle, 99) },
        floodedMs: { p50: percentile(flooded, 50), p99 },
        boundMs: bound,
        queued: left,
        inWindow: window,
      },
    },
  ];
};

interface Sampling {
  tenantID: string;
  versionID: string;
  count: number;
}

async function startLatencies({ pool, runs }: BenchEnvironment, { tenantID, versionID, count }: Sampling) {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const { instanceID } = await runs.accept({
      tenantID,
      workflowID: null,
      versionID,
      caller: { type: 'system', id: tenantID, origin: 'direct' },
      input: {},
      timeoutMs: 3_600_000,
    });
    for (;;) {
      const { rows } = await pool.query<{ ms: number }>(
        `select extract(epoch from started_at - created_at)::float8 * 1000 as ms from workflow_instance
         where id = $1 and completed_at is not null`,
        [instanceID],
      );
      if (rows[0]) {
        times.push(Math.round(rows[0].ms * 10) / 10);
        break;
      }
      await sleep(5);
    }
  }
  return times;
}

const INSERT_FLOOD = `
insert into workflow_instance (id, tenant_id, creator_id, version_id, class, ready_at, deadline_at, caller)
select uuidv7(), id, creator_id, $2::uuid, 'batch', now(), now() + interval '1 hour',
  jsonb_build_object('type', 'system', 'id', id, 'origin', 'direct')
from tenant, generate_series(1, $3::int) where id = $1::uuid`;
