import { randomUUID } from 'node:crypto';
import { Counter } from '#shared/core/counter.ts';
import { FIRST_ID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import type { Producer } from '#shared/messaging/producer.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { FIND_FORGOTTEN } from '#shared/runs/accounting.ts';
import { createEndIsolated } from '#shared/runs/end-isolated.ts';
import { nodeEvents } from '#shared/runs/node-event-rows.ts';
import type { Runs } from '#shared/runs/runs.ts';
import { MAX_CRASHES } from '../claim/claim.ts';
import { mayExpire } from '../lease/leader.ts';
import { createMaps } from '../maps/maps.ts';
import { findOverdue } from './overdue-runs.ts';

const BATCH = 500;
/** Runs that `searchForgotten` looks at in each round. That takes 1.5 ms, however many runs there are. */
const SLICE = 500;
/** Time limit for adding jobs again, which looks for each existing job and so takes longer than adding new ones. */
const REPAIR_TIMEOUT_MS = 2_000;

interface Options {
  pool: Pool;
  runs: Runs;
  producer: Producer;
  backplane: Backplane;
  logger: Logger;
  leaseMs: number;
}

/** Tasks of the sweep that find runs which a crash, a lost message or a passed deadline has left behind. */
export interface Repairs {
  endLeases(): Promise<void>;
  releaseLost(): Promise<void>;
  failLost(): Promise<void>;
  endOverdue(): Promise<void>;
  processOutbox(): Promise<void>;
  advanceMaps(): Promise<void>;
  dispatchAgain(): Promise<void>;
  restoreQueues(): Promise<void>;
  searchForgotten(): Promise<void>;
  /** Totals so far, for metrics. */
  readonly stats: { forgotten: number; repairs: Counter<'kind'> };
}

/** Kinds of repairs by the sweep, for metrics. */
type Repair =
  | 'lease expired'
  | 'run released'
  | 'run failed'
  | 'run overdue'
  | 'notice'
  | 'chunks'
  | 'handed over again'
  | 'queues lost';

export function createRepairs({ pool, runs, producer, backplane, logger, leaseMs }: Options): Repairs {
  const stats = { forgotten: 0, repairs: new Counter<'kind'>() };
  const maps = createMaps({ pool, runs, logger });
  const endIsolated = createEndIsolated(runs, logger);
  /** The last run that `searchForgotten` has looked at, and the forgotten runs found since it began at the first. */
  let lookedUpTo = FIRST_ID;
  let found = 0;

  function repaired(kind: Repair, count: number | null): void {
    if (count) stats.repairs.add({ kind }, count);
  }

  async function endLeases(): Promise<void> {
    const { rowCount } = await pool.query({ name: 'sweep_end_leases', text: END_LEASES, values: [leaseMs / 1000] });
    repaired('lease expired', rowCount);
  }

  async function releaseLost(): Promise<void> {
    const { rowCount } = await pool.query({ name: 'sweep_release_lost_runs', text: RELEASE_LOST, values: [BATCH] });
    repaired('run released', rowCount);
  }

  async function failLost(): Promise<void> {
    const { rows } = await pool.query<{
      id: string;
      parent_id: string | null;
      node_id: string | null;
      attempt: number | null;
      frame: JsonObject[] | null;
    }>({ name: 'sweep_find_lost_runs', text: FIND_LOST, values: [BATCH, endIsolated.refused()] });
    for (const { id, parent_id, node_id, attempt, frame } of rows) {
      const error = {
        code: 'WORKER_LOST',
        message: 'The worker was lost three times on this run without progress',
        nodeID: node_id,
        attempt,
        ...(node_id !== null && { frame: frame ?? [] }),
      };
      if ((await endIsolated([id], { status: 'FAILED', error })).length > 0) continue;
      repaired('run failed', 1);
      if (parent_id) await runs.wake([parent_id]);
    }
  }

  async function endOverdue(): Promise<void> {
    const rows = await findOverdue(pool, { max: BATCH, except: endIsolated.refused() });
    if (rows.length === 0) return;
    for (const [message, overdue] of Map.groupBy(rows, (row) => row.message)) {
      const error = { code: 'RUN_TIMEOUT', message, nodeID: null, attempt: null };
      const refused = await endIsolated(
        overdue.map(({ id }) => id),
        { status: 'FAILED', error, namesNodes: true },
      );
      repaired('run overdue', overdue.length - refused.length);
    }
    const parents = rows.flatMap(({ parentID }) => parentID ?? []);
    if (parents.length > 0) await runs.wake(parents);
  }

  /** Wakes or cancels the runs named in outbox entries that their own process has not processed, because it died or lost the database. */
  async function processOutbox(): Promise<void> {
    const { rows } = await pool.query<{ id: number; instance_id: string; kind: 'wake' | 'cancel' }>({
      name: 'sweep_find_notices',
      text: FIND_OUTBOX_ENTRIES,
      values: [BATCH, endIsolated.refused()],
    });
    if (rows.length === 0) return;
    const runsOf = (kind: string) => rows.filter((row) => row.kind === kind).map(({ instance_id }) => instance_id);
    const refused = await endIsolated(runsOf('cancel'), { status: 'CANCELLED', error: null });
    await runs.wake(runsOf('wake'));
    const done = rows.filter(({ kind, instance_id }) => kind !== 'cancel' || !refused.includes(instance_id));
    repaired('notice', done.length);
    await pool.query('delete from run_notice where id = any($1::bigint[])', [done.map(({ id }) => id)]);
  }

  /** Counts ended chunks of maps, and starts the next ones, where the process that should have done it has died or lost the database. */
  async function advanceMaps(): Promise<void> {
    repaired('chunks', await maps.advanceForgotten());
  }

  /**
   * Adds jobs again that were dispatched ten, twenty … seconds ago and not claimed. The same id has no effect while the job waits or
   * is active; one that has ended and is retained for the board is removed.
   * A job that exists and never comes to a worker must not block the run, so after three leases, six, twelve … it gets one with a new
   * id: few of them, however long a run waits for a busy fleet. The first claim raises the epoch, and jobs with an earlier epoch claim nothing.
   */
  async function dispatchAgain(): Promise<void> {
    const { rows } = await pool.query<{ id: string; tenant_id: string; epoch: number; waited_ms: number }>({
      name: 'sweep_hand_over_again',
      text: HANDED_OVER_LONG_AGO,
    });
    for (let at = 0; at < rows.length; at += BATCH)
      await producer.enqueue(
        workflowRuns,
        rows.slice(at, at + BATCH).map(({ id, tenant_id, epoch, waited_ms }) => ({
          tenantID: tenant_id,
          instanceID: id,
          epoch: epoch + 1,
          again: timesDoubled(waited_ms / (leaseMs * 3)),
        })),
        { replacesEnded: true, timeoutMs: REPAIR_TIMEOUT_MS },
      );
    repaired('handed over again', rows.length);
  }

  /** Finds out, by a random value stored both in Postgres and in the queues, whether the queues have lost their data. Every ten seconds. */
  async function restoreQueues(): Promise<void> {
    const known = await pool.query<{ value: string }>(
      `select value #>> '{}' as value from service_state where key = 'sentinel'`,
    );
    const written = known.rows[0]?.value ?? null;
    if (written !== null && (await backplane.sentinel()) === written) return;
    const sentinel = randomUUID();
    await pool.query(
      `insert into service_state (key, value) values ('sentinel', to_jsonb($1::text)) on conflict (key) do update set value = excluded.value, updated_at = now()`,
      [sentinel],
    );
    // In a new installation nothing was lost, and the runs that were dispatched by now are in the queues.
    if (written !== null) await forgetHandOvers();
    await backplane.markAlive(sentinel);
  }

  /** Marks all READY runs as not dispatched, so that they are dispatched again: the queues have lost their jobs. */
  async function forgetHandOvers(): Promise<void> {
    const { rowCount } = await pool.query(
      'update workflow_instance set dispatched_at = null where dispatched_at is not null and ready_at is not null and held_by is null',
    );
    repaired('queues lost', 1);
    logger.warn({ runs: rowCount }, 'the queues had lost their data; filling them from Postgres');
  }

  /**
   * Searches the runs that no worker owns and that are not READY, a slice in each round, for those that nothing will continue. There should be
   * none: every commit that releases a run also writes what continues it.
   */
  async function searchForgotten(): Promise<void> {
    const { rows } = await pool.query<{
      last: string | null;
      looked_at: number;
      ids: string[] | null;
      forgotten: number;
    }>({
      name: 'sweep_find_forgotten_runs',
      text: FIND_FORGOTTEN,
      values: [lookedUpTo, SLICE],
    });
    const [slice] = rows;
    if (!slice) return;
    found += slice.forgotten;
    if (slice.forgotten > 0)
      logger.error({ instanceIDs: slice.ids, runs: slice.forgotten }, 'nothing will continue these runs');
    const isEnd = slice.looked_at < SLICE;
    lookedUpTo = isEnd || !slice.last ? FIRST_ID : slice.last;
    if (!isEnd) return;
    stats.forgotten = found;
    found = 0;
  }

  return {
    endLeases,
    releaseLost,
    failLost,
    endOverdue,
    processOutbox,
    advanceMaps,
    dispatchAgain,
    restoreQueues,
    searchForgotten,
    stats,
  };
}

const END_LEASES = `
update worker_session set ended_at = now() where ended_at is null and expires_at < now() and ${mayExpire('$1')}`;

// A crash counts when a node was in flight; after the first, only when the process that died owned no other run.
const RELEASE_LOST = `
with lost as (
  select i.id from workflow_instance i
  where i.held_by is not null
    and not exists (select from worker_session s where s.id = i.held_by and s.ended_at is null)
  limit $1 for update of i skip locked
),
in_flight as (
  select lost.id from lost where exists (
    select from (
      select distinct on (e.node_id, e.frame) e.status from (${nodeEvents('e.instance_id = lost.id')}) e
      order by e.node_id, e.frame, e.seq desc
    ) latest where status = 'RUNNING')
)
update workflow_instance i
set held_by = null, epoch = i.epoch + 1, ready_at = now(), dispatched_at = null,
    losses = i.losses + case when (i.losses = 0 or i.alone) and exists (select from in_flight f where f.id = i.id) then 1 else 0 end
from lost where i.id = lost.id`;

const FIND_LOST = `
select i.id, i.parent_id, e.node_id, e.attempt, e.frame from workflow_instance i
left join lateral (
  select node_id, attempt, frame from (${nodeEvents('e.instance_id = i.id')}) each where status = 'RUNNING' order by seq desc limit 1
) e on true
where i.losses >= ${MAX_CRASHES} and i.ready_at is not null and i.held_by is null and i.completed_at is null
  and i.id <> all($2::uuid[])
limit $1`;

// The dispatch window limits the number of rows. Two of ten rounds find a run, in case one of them is late.
const HANDED_OVER_LONG_AGO = `
select id, tenant_id, epoch, extract(epoch from now() - dispatched_at)::float8 * 1000 as waited_ms from workflow_instance
where dispatched_at < now() - interval '10 seconds' and ready_at is not null and held_by is null
  and extract(epoch from now() - dispatched_at)::int8 % 10 < 2`;

// The process that wrote an entry processes it at once, unless it has died: entries of the last two seconds are left to it.
const FIND_OUTBOX_ENTRIES = `
select id, instance_id, kind from run_notice
where created_at < now() - interval '2 seconds' and not (kind = 'cancel' and instance_id = any($2::uuid[]))
order by id limit $1`;

/** Counts how often the time has doubled: 1 from 1 on, 2 from 2, 3 from 4, 4 from 8 …; undefined below 1. */
function timesDoubled(times: number): number | undefined {
  return times < 1 ? undefined : Math.floor(Math.log2(times)) + 1;
}
