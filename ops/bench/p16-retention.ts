import { retire } from '#workers/maintenance/retention/retire.ts';
import { retentions } from '#workers/maintenance/retention/tables.ts';
import type { BenchEnvironment } from './environment.ts';
import type { Figure } from './row.ts';

const MINUTES = Number(process.env.P16_MINUTES ?? 60);
const RUNS_PER_SECOND = Number(process.env.P16_RUNS_PER_SECOND ?? 100);
const EVENTS = 20;
const PERIOD_MINUTES = 10;
const runTables = ['workflow_instance', 'run_event', 'query_run', 'idempotency'] as const;

/**
 * P16: an hour at 100 runs/s in simulated time, with a period of ten minutes. Each round adds a minute's rows and deletes the old
 * ones, then vacuums as autovacuum does. Value: size of the tables at the end; floor: size when the first rows became old.
 */
export async function p16({ pool, tenantID, settings }: BenchEnvironment): Promise<Figure[]> {
  const began = Date.now() - MINUTES * 60_000;
  const perMinute = RUNS_PER_SECOND * 60;
  let level = 0;
  let size = 0;
  let deleteMs = 0;
  let deleted = 0;
  for (let minute = 1; minute <= MINUTES; minute += 1) {
    const at = new Date(began + minute * 60_000);
    await pool.query(RUNS, [tenantID, at, perMinute, EVENTS]);
    await pool.query(QUERY_RUNS, [tenantID, at, perMinute]);
    // Their period is in the row: these are over in the next round, as if a minute were a day.
    await pool.query(KEYS, [tenantID, minute, new Date(), perMinute]);
    const ageMs = Date.now() - at.getTime() + PERIOD_MINUTES * 60_000;
    const periods = { runsMs: ageMs, maxRunsMs: ageMs, queryRunsMs: ageMs, operatorAuditMs: ageMs };
    const start = performance.now();
    for (const table of Object.keys(retentions) as (keyof typeof retentions)[])
      deleted += await retire(table, { pool, settings: periods });
    deleteMs += performance.now() - start;
    for (const table of runTables) await pool.query(`vacuum ${table}`);
    size = await sizeOf(pool);
    if (minute === PERIOD_MINUTES + 2) level = size;
  }
  const measured = { ...(await settings()), minutes: MINUTES, runsPerSecond: RUNS_PER_SECOND, eventsPerRun: EVENTS };
  return [
    {
      figure: 'size of the tables after an hour, to that after twelve minutes',
      value: Math.round(size / 1024 / 1024),
      unit: 'MB',
      floor: Math.round(level / 1024 / 1024),
      ratio: Number((size / level).toFixed(3)),
      settings: measured,
    },
    {
      figure: 'time to delete what a minute has made old, its rests included',
      value: Math.round(deleteMs / MINUTES),
      unit: 'ms',
      floor: 60_000,
      ratio: Number((deleteMs / MINUTES / 60_000).toFixed(4)),
      settings: { ...measured, deleted },
    },
  ];
}

async function sizeOf(pool: BenchEnvironment['pool']): Promise<number> {
  const { rows } = await pool.query<{ bytes: number }>(
    'select sum(pg_total_relation_size(name::regclass))::int8 as bytes from unnest($1::text[]) name',
    [runTables],
  );
  return rows[0]?.bytes ?? 0;
}

const RUNS = `
with run as (
  insert into workflow_instance (id, tenant_id, version_id, status, caller, input, deadline_at, created_at, completed_at)
  select uuidv7(), $1::uuid, $1::uuid, 'COMPLETED', '{}', '{"a": 1}', $2::timestamptz, $2, $2 from generate_series(1, $3::int) returning id)
insert into run_event (instance_id, seq, node_id, status, payload)
select id, n, 'node' || n, 'RUNNING', '{"output": {"matched": "yes"}}' from run, generate_series(1, $4::int) n`;

const QUERY_RUNS = `
insert into query_run (id, tenant_id, datasource_type, caller, started_at, duration_ms)
select uuidv7(), $1::uuid, 'postgresql', '{}', $2::timestamptz, 1 from generate_series(1, $3::int)`;

const KEYS = `
insert into idempotency (tenant_id, principal, route, key, request_hash, status, response, expires_at)
select $1::uuid, 'p', 'r', $2::int || '.' || n, 'hash', 200, '{}', $3::timestamptz from generate_series(1, $4::int) n`;
