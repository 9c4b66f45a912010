import type { Semaphore } from '#shared/concurrency/semaphore.ts';
import type { Counter } from '#shared/core/counter.ts';
import type { Metrics, Sample } from '#shared/core/metrics.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import { queues } from '#shared/messaging/queues/index.ts';
import { COUNT_CONTRADICTIONS } from '#shared/runs/accounting.ts';
import type { Engine } from '../engine/engine.ts';
import type { Lease } from '../engine/lease/lease.ts';
import type { Sweep } from '../engine/recovery/sweep.ts';
import type { JobStats } from '../processors/job-stats.ts';
import type { CronScheduler } from '../triggers/cron/scheduler.ts';
import type { OpenEngine } from './open-engine.ts';
import { createRunCount } from './run-gauge.ts';

type Add = Pick<Metrics, 'add'>;

/** Adds what a process with an engine knows about itself: a worker, and its quarantine process. */
export function addEngineMetrics(metrics: Add, { engine, lease, servers, sandbox }: OpenEngine): void {
  const { add } = metrics;
  add({ name: 'gantry_held_runs', help: 'Runs that this process holds', kind: 'gauge' }, () => one(engine.owned.size));
  add({ name: 'gantry_held_runs_bytes', help: 'Outputs of these runs in memory, as JSON text', kind: 'gauge' }, () =>
    one(engine.stats.residentLength),
  );
  addReleaseMetrics(metrics, engine);
  addClaimMetrics(metrics, engine);
  addCommitMetrics(metrics, engine);
  addLeaseMetrics(metrics, lease);
  add({ name: 'gantry_places', help: 'Places for work', kind: 'gauge', labels: ['lane', 'state'] }, () => [
    ...permitSamples('nodes', { used: engine.stats.slotsUsed, waiting: engine.stats.slotsWaiting }),
    ...servers.all.flatMap(({ name, permits }) => permitSamples(`tenants.${name}`, permits)),
    ...permitSamples('sandbox', sandbox),
  ]);
}

function addReleaseMetrics({ add }: Add, { stats }: Engine): void {
  const { runs, seconds, tenant } = stats.released;
  const labels = ['outcome', ...tenant.names];
  add(
    { name: 'gantry_runs_left_total', help: 'Runs that have left this process', kind: 'counter', labels },
    () => runs.samples,
  );
  add(
    { name: 'gantry_held_seconds_total', help: 'Time that it held them', kind: 'counter', labels: [...tenant.names] },
    () => seconds.samples,
  );
}

function addClaimMetrics({ add }: Add, { stats }: Engine): void {
  const { claims } = stats;
  add({ name: 'gantry_claims_total', help: 'Runs asked for', kind: 'counter', labels: ['outcome'] }, () => [
    { labels: { outcome: 'won' }, value: claims.won },
    { labels: { outcome: 'lost' }, value: claims.lost },
    { labels: { outcome: 'failed' }, value: claims.failed },
  ]);
  add({ name: 'gantry_claim_statements_total', help: 'Statements that have asked for them', kind: 'counter' }, () =>
    one(claims.statements),
  );
  add({ name: 'gantry_claim_seconds_total', help: 'Time of these statements', kind: 'counter' }, () =>
    one(claims.seconds),
  );
}

function addCommitMetrics({ add }: Add, engine: Engine): void {
  add({ name: 'gantry_commit_statements_total', help: 'Statements that have written steps', kind: 'counter' }, () =>
    one(engine.stats.statements),
  );
  add({ name: 'gantry_commit_steps_total', help: 'Steps that these statements have written', kind: 'counter' }, () =>
    one(engine.stats.commits),
  );
  add({ name: 'gantry_commit_characters_total', help: 'Length of their payloads', kind: 'counter' }, () =>
    one(engine.stats.characters),
  );
  add({ name: 'gantry_commit_seconds_total', help: 'Time of these statements', kind: 'counter' }, () =>
    one(engine.stats.seconds),
  );
  add({ name: 'gantry_commit_troubles_total', help: 'What commits met', kind: 'counter', labels: ['kind'] }, () => [
    { labels: { kind: 'sent again' }, value: engine.stats.repeats },
    { labels: { kind: 'fenced' }, value: engine.stats.fenced },
    { labels: { kind: 'refused' }, value: engine.stats.refused },
  ]);
}

function addLeaseMetrics({ add }: Add, lease: Lease): void {
  add(
    { name: 'gantry_lease_valid', help: '1 while the lease is valid by the clock of the process', kind: 'gauge' },
    () => one(lease.isValid ? 1 : 0),
  );
  add({ name: 'gantry_lease_renewals_total', help: 'Renewals', kind: 'counter', labels: ['outcome'] }, () => [
    { labels: { outcome: 'renewed' }, value: lease.stats.renewed },
    { labels: { outcome: 'failed' }, value: lease.stats.failed },
    { labels: { outcome: 'lost' }, value: lease.stats.lost },
  ]);
}

interface WorkerSources {
  pool: Pool;
  sweep: Sweep;
  backplane: Backplane;
  answering: Semaphore;
  jobs: JobStats;
  deliveries: Counter<'outcome'>;
  deadLetters: { readonly count: number };
  deferred: { readonly openBreakers: number };
  cron: Pick<CronScheduler, 'stats'>;
}

/** Adds what a worker knows beside its engine, and, while it leads the sweep, about all runs. */
export function addWorkerMetrics(
  metrics: Add,
  { pool, sweep, backplane, answering, jobs, deliveries, deadLetters, deferred, cron }: WorkerSources,
): void {
  const { add } = metrics;
  const tenant = jobs.tenant.names;
  add(
    { name: 'gantry_jobs_total', help: 'Jobs that ended', kind: 'counter', labels: ['queue', 'outcome', ...tenant] },
    () => jobs.ended.samples,
  );
  add(
    { name: 'gantry_job_seconds_total', help: 'Their time', kind: 'counter', labels: ['queue', ...tenant] },
    () => jobs.seconds.samples,
  );
  add({ name: 'gantry_questions', help: 'Questions at this worker', kind: 'gauge', labels: ['state'] }, () => [
    { labels: { state: 'answered' }, value: answering.used },
    { labels: { state: 'waiting' }, value: answering.waiting },
  ]);
  add(
    {
      name: 'gantry_completion_attempts_total',
      help: 'Attempts to tell receivers of the ends of runs',
      kind: 'counter',
      labels: ['outcome'],
    },
    () => deliveries.samples,
  );
  const ofDead = 'Dead letters of listeners, up to 10,000; 0 unless this worker sweeps';
  add({ name: 'gantry_dead_letters', help: ofDead, kind: 'gauge' }, () => one(deadLetters.count));
  const ofBreakers = 'Listeners whose events are held because their target keeps failing; 0 unless this worker sweeps';
  add({ name: 'gantry_open_breakers', help: ofBreakers, kind: 'gauge' }, () => one(deferred.openBreakers));
  addSweepMetrics(metrics, sweep);
  addCronMetrics(metrics, cron.stats);
  addTotals(metrics, { pool, backplane, stats: sweep.stats });
}

function addCronMetrics({ add }: Add, stats: CronScheduler['stats']): void {
  const ofTicks = 'Ticks of cron jobs that were due, by what this worker decided';
  add(
    { name: 'gantry_cron_ticks_total', help: ofTicks, kind: 'counter', labels: ['outcome'] },
    () => stats.ticks.samples,
  );
  const ofLate = 'How late the fired ones were taken up, together';
  add({ name: 'gantry_cron_late_seconds_total', help: ofLate, kind: 'counter' }, () => one(stats.lateSeconds));
}

function addSweepMetrics({ add }: Add, { stats }: Sweep): void {
  add({ name: 'gantry_sweep_leader', help: '1 in the worker that sweeps', kind: 'gauge' }, () =>
    one(stats.leads ? 1 : 0),
  );
  add(
    {
      name: 'gantry_forgotten_runs',
      help: 'Runs that nothing continues, by the last complete look; in the leader',
      kind: 'gauge',
    },
    () => (stats.leads ? one(stats.forgotten) : []),
  );
  const labels = ['step'];
  const ofSteps = (key: 'times' | 'failures' | 'seconds') =>
    [...stats.tasks].map(([step, of]) => ({ labels: { step }, value: of[key] }));
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
  add(
    { name: 'gantry_repairs_total', help: 'What the sweep has repaired', kind: 'counter', labels: ['kind'] },
    () => stats.repairs.samples,
  );
}

/** Adds metrics of the whole deployment. Only the leader reports samples; otherwise sums over processes would count them repeatedly. */
function addTotals(
  { add }: Add,
  { pool, backplane, stats }: Pick<WorkerSources, 'pool' | 'backplane'> & Pick<Sweep, 'stats'>,
): void {
  const leads = () => stats.leads;
  const ofDifference = 'Runs that no accounting explains, up to 10,000';
  add({ name: 'gantry_accounting_difference', help: ofDifference, kind: 'gauge' }, async () => {
    if (!leads()) return [];
    const { rows } = await pool.query<{ value: number }>(COUNT_CONTRADICTIONS);
    return rows.map(({ value }) => ({ value: value + stats.forgotten }));
  });
  const countRuns = createRunCount(pool);
  add({ name: 'gantry_runs', help: 'Runs that have not ended', kind: 'gauge', labels: ['state', 'class'] }, () =>
    leads() ? countRuns() : [],
  );
  add({ name: 'gantry_oldest_ready_seconds', help: 'How long the oldest READY run waits', kind: 'gauge' }, async () => {
    if (!leads()) return [];
    const { rows } = await pool.query<{ value: number }>(OLDEST_READY);
    return [rows[0] ?? { value: 0 }];
  });
  add({ name: 'gantry_cron_jobs_due', help: 'Cron jobs that are due, up to 10,000', kind: 'gauge' }, async () => {
    if (!leads()) return [];
    return (await pool.query<{ value: number }>(CRON_DUE)).rows;
  });
  const ofLeases = 'Listeners that want a connection, by whether a worker has them';
  add({ name: 'gantry_listener_leases', help: ofLeases, kind: 'gauge', labels: ['state'] }, async () => {
    if (!leads()) return [];
    const { rows } = await pool.query<{ held: number; free: number }>(LISTENER_LEASES);
    return rows.flatMap((row) => Object.entries(row).map(([state, value]) => ({ labels: { state }, value })));
  });
  const ofCleanUps = 'Listeners that are gone and may have left something at their server, up to 10,000';
  add({ name: 'gantry_listener_residues', help: ofCleanUps, kind: 'gauge' }, async () =>
    leads() ? (await pool.query<{ value: number }>(CLEAN_UPS)).rows : [],
  );
  add({ name: 'gantry_leases', help: 'Leases of workers', kind: 'gauge', labels: ['state'] }, async () => {
    if (!leads()) return [];
    const { rows } = await pool.query<{ live: number; overdue: number }>(LEASES);
    return rows.flatMap((row) => Object.entries(row).map(([state, value]) => ({ labels: { state }, value })));
  });
  add({ name: 'gantry_queue_jobs', help: 'Jobs in the queues', kind: 'gauge', labels: ['queue', 'state'] }, async () =>
    leads() ? (await Promise.all(queues.map(({ name }) => countJobs(backplane, name)))).flat() : [],
  );
}

async function countJobs(backplane: Backplane, queue: string): Promise<Sample[]> {
  const counts = await backplane.queue(queue).getJobCounts('waiting', 'active', 'delayed', 'completed', 'failed');
  return Object.entries(counts).map(([state, value]) => ({ labels: { queue, state }, value }));
}

function permitSamples(name: string, { used, waiting }: { used: number; waiting: number }): Sample[] {
  return [
    { labels: { lane: name, state: 'used' }, value: used },
    { labels: { lane: name, state: 'waiting' }, value: waiting },
  ];
}

function one(value: number): Sample[] {
  return [{ value }];
}

const OLDEST_READY = `
select greatest(0, extract(epoch from now() - ready_at))::float8 as value from workflow_instance
where ready_at is not null and held_by is null order by ready_at limit 1`;

const LEASES = `
select count(*) filter (where expires_at > now())::int as live, count(*) filter (where expires_at <= now())::int as overdue
from worker_session where ended_at is null`;

const LISTENER_LEASES = `
select count(*) filter (where held_by is not null)::int as held, count(*) filter (where held_by is null)::int as free
from listener_lease`;

const CLEAN_UPS = 'select count(*)::int as value from (select from listener_residue limit 10000) as left_behind';

const CRON_DUE = `
select count(*)::int as value from (select from cron_job where due_at <= now() limit 10000) as due`;
