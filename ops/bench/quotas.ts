import { addWaitingRuns } from '#test/support/waiting-runs.ts';
import { type BenchEnvironment, percentile } from './environment.ts';
import type { Figure } from './row.ts';

const SIZES = [1_000, 10_000, 100_000];
const RUNS = 5_000;
const ROUNDS = 5;
const DROP_INDEX = 'drop index workflow_instance_open';

/**
 * What the quota of runs costs Postgres: its count beside runs in flight, by the index that it has for it and without, and what the
 * index adds to the WAL and the time of runs that are accepted and end. A worker or a process of the API counts a tenant once a second.
 */
export async function quotas(environment: BenchEnvironment): Promise<Figure[]> {
  const settings = await environment.settings();
  const figures: Figure[] = [];
  const add = (figure: string, unit: string, value: number, floor: number) =>
    figures.push({ figure, unit, value, floor, ratio: Number((value / floor).toFixed(3)), settings });

  let filled = 0;
  for (const size of SIZES) {
    await addWaitingRuns(environment, size - filled);
    filled = size;
    const counted = await rolledBack(environment, async (query) => await timesOf(query, COUNT, environment.tenantID));
    const without = await rolledBack(environment, async (query) => {
      await query(DROP_INDEX);
      return await timesOf(query, COUNT, environment.tenantID);
    });
    add(`a count beside ${size} runs in flight, to one without the index`, 'ms p50', counted, without);
  }

  const costs: Record<'with' | 'without', { bytes: number; ms: number }[]> = { with: [], without: [] };
  for (let round = 0; round < ROUNDS; round += 1)
    for (const how of ['with', 'without'] as const)
      costs[how].push(
        await rolledBack(environment, async (query) => {
          if (how === 'without') await query(DROP_INDEX);
          return await costOfRuns(query, environment.tenantID);
        }),
      );
  const median = (how: 'with' | 'without', of: 'bytes' | 'ms') =>
    percentile(
      costs[how].map((one) => one[of]),
      50,
    );
  add(
    'a run that is accepted and ends, to one without the index',
    'WAL bytes',
    median('with', 'bytes'),
    median('without', 'bytes'),
  );
  add('a run that is accepted and ends, to one without the index', 'ms', median('with', 'ms'), median('without', 'ms'));
  return figures;
}

type Query = (text: string, values?: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

/** The environment stays as it is. */
async function rolledBack<T>({ pool }: BenchEnvironment, work: (query: Query) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    return await work((text, values) => client.query(text, values));
  } finally {
    await client.query('rollback');
    client.release();
  }
}

async function timesOf(query: Query, statement: string, tenantID: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS * 2; round += 1) {
    const began = performance.now();
    await query(statement, [tenantID]);
    times.push(performance.now() - began);
  }
  return Number(percentile(times, 50).toFixed(3));
}

/** Of one run, as a mean of many. */
async function costOfRuns(query: Query, tenantID: string): Promise<{ bytes: number; ms: number }> {
  const { rows } = await query('select pg_current_wal_insert_lsn() as lsn');
  const began = performance.now();
  await query(ACCEPT, [tenantID, RUNS]);
  await query(END, [tenantID]);
  const ms = (performance.now() - began) / RUNS;
  const { rows: after } = await query('select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::int as bytes', [
    rows[0]?.lsn,
  ]);
  return { bytes: Math.round(Number(after[0]?.bytes) / RUNS), ms: Number(ms.toFixed(4)) };
}

const COUNT = 'select count(*) from workflow_instance where tenant_id = $1 and completed_at is null';

const ACCEPT = `
insert into workflow_instance (id, tenant_id, version_id, status, ready_at, deadline_at, caller)
select uuidv7(), $1::uuid, (select id from workflow_version limit 1), 'PENDING', now(), now() + interval '1 hour', '{"type": "bench"}'
from generate_series(1, $2::int)`;

const END = `
update workflow_instance set status = 'COMPLETED', ready_at = null, completed_at = now()
where tenant_id = $1 and caller ->> 'type' = 'bench'`;
