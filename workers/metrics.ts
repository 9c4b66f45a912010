import type { Pool } from '#shared/db/pool.ts';
import type { Metrics, Sample } from '#shared/metrics.ts';
import type { Engine } from './engine/engine.ts';
import type { Lease } from './engine/lease.ts';
import type { Sweep } from './engine/sweep.ts';

interface Sources {
  pool: Pool;
  engine: Engine;
  lease: Pick<Lease, 'isValid'>;
  sweep: Sweep;
}

/** Adds what a worker knows about itself, and, while it leads the sweep, about all runs. */
export function addWorkerMetrics(metrics: Metrics, { pool, engine, lease, sweep }: Sources): void {
  const { add } = metrics;
  add({ name: 'gantry_held_runs', help: 'Runs that this worker holds', kind: 'gauge' }, () => one(engine.held.size));
  add({ name: 'gantry_used_slots', help: 'Slots with a node that runs', kind: 'gauge' }, () =>
    one(engine.stats.slotsUsed),
  );
  add({ name: 'gantry_commit_statements_total', help: 'Statements that have written steps', kind: 'counter' }, () =>
    one(engine.stats.statements),
  );
  add({ name: 'gantry_commit_steps_total', help: 'Steps that these statements have written', kind: 'counter' }, () =>
    one(engine.stats.steps),
  );
  add(
    { name: 'gantry_lease_valid', help: '1 while the lease is valid by the clock of the worker', kind: 'gauge' },
    () => one(lease.isValid ? 1 : 0),
  );
  add({ name: 'gantry_sweep_leader', help: '1 in the worker that sweeps', kind: 'gauge' }, () =>
    one(sweep.stats.leads ? 1 : 0),
  );
  const labels = ['step'];
  const ofSteps = (key: 'times' | 'failures' | 'seconds') =>
    [...sweep.stats.steps].map(([step, stats]) => ({ labels: { step }, value: stats[key] }));
  add({ name: 'gantry_sweep_steps_total', help: 'Steps of the sweep that were made', kind: 'counter', labels }, () =>
    ofSteps('times'),
  );
  add(
    { name: 'gantry_sweep_step_failures_total', help: 'Steps of the sweep that failed', kind: 'counter', labels },
    () => ofSteps('failures'),
  );
  add(
    { name: 'gantry_sweep_step_seconds_total', help: 'Time of the steps of the sweep', kind: 'counter', labels },
    () => ofSteps('seconds'),
  );
  const count = createRunCount(pool);
  add({ name: 'gantry_runs', help: 'Runs that have not ended', kind: 'gauge', labels: ['state', 'class'] }, () =>
    sweep.stats.leads ? count() : [],
  );
  add({ name: 'gantry_oldest_ready_seconds', help: 'How long the oldest READY run waits', kind: 'gauge' }, async () => {
    if (!sweep.stats.leads) return [];
    const { rows } = await pool.query<{ value: number }>(OLDEST_READY);
    return [rows[0] ?? { value: 0 }];
  });
}

function one(value: number): Sample[] {
  return [{ value }];
}

const FRESH_MS = 15_000;
/** A count that takes long is made seldom: at most this share of the time is spent on it. */
const SHARE = 1 / 100;

/** Counts the runs that have not ended, at most once in 15 s and seldom where there are a million: other scrapes get the last count. */
function createRunCount(pool: Pool): () => Promise<Sample[]> {
  let last: Promise<Sample[]> | undefined;
  let freshUntil = 0;

  async function count(): Promise<Sample[]> {
    const began = performance.now();
    const { rows } = await pool.query<{ state: string; class: string; n: number }>(COUNT);
    freshUntil = performance.now() + Math.max(FRESH_MS, (performance.now() - began) / SHARE);
    return rows.map(({ state, class: kind, n }) => ({ labels: { state, class: kind }, value: n }));
  }

  return () => {
    if (last && performance.now() < freshUntil) return last;
    freshUntil = performance.now() + FRESH_MS;
    last = count();
    last.catch(() => {
      last = undefined;
    });
    return last;
  };
}

const COUNT = `
select case when held_by is not null then 'held' when ready_at is not null then 'ready' else 'waiting' end as state, class, count(*)::int as n
from workflow_instance where completed_at is null group by 1, 2`;

const OLDEST_READY = `
select greatest(0, extract(epoch from now() - ready_at))::float8 as value from workflow_instance
where ready_at is not null and held_by is null order by ready_at limit 1`;
