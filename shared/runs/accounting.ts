import { idAt } from '../core/ids.ts';
import type { Pool } from '../db/pool.ts';
import { inTransaction } from '../db/pool.ts';
import type { FinalState } from '../triggers/listeners/event-states.ts';

/** The cause that will continue a run that has not ended: a worker, a position in the queue, the end of a pause, a time, or a wait of one of its nodes. */
const CONTINUES = `(ready_at is not null or kept_since is not null or held_by is not null or wake_at is not null
  or exists (select from run_wait w where w.instance_id = i.id))`;

export interface HourOfRuns {
  hour: Date;
  origin: 'workflow' | 'appPage' | 'listener' | 'cron' | 'direct';
  accepted: number;
  completed: number;
  failed: number;
  cancelled: number;
  inFlight: number;
  difference: number;
}

export interface HourOfEvents {
  hour: Date;
  received: number;
  done: number;
  filtered: number;
  duplicate: number;
  dead: number;
  replaced: number;
  pending: number;
  difference: number;
}

/** Time limit of each statement. A statement that takes longer counts too many rows: the period is too long. */
const MAX_SECONDS = 10;

/**
 * Counts the runs that were accepted in a period, by hour and origin, and the events of listeners that were received, by hour. Counts the
 * rows themselves, not stored totals. Chunks of a map are parts of their run and are not counted. Without `tenantID`: of all tenants.
 */
export function accountFor(
  pool: Pool,
  { tenantID, from, to }: { tenantID?: string; from: Date; to: Date },
): Promise<{ runs: HourOfRuns[]; events: HourOfEvents[] }> {
  const ids = [idAt(from.getTime() - MARGIN_MS), idAt(to.getTime() + MARGIN_MS)];
  return inTransaction(pool, async (client) => {
    await client.query(`set local statement_timeout = '${MAX_SECONDS}s'`);
    const { rows: runs } = await client.query<HourOfRuns>(
      tenantID === undefined
        ? account(IDS_BETWEEN)
        : account('tenant_id = $3 and created_at >= $1 and created_at < $2'),
      tenantID === undefined ? [from, to, ...ids] : [from, to, tenantID],
    );
    const { rows: events } = await client.query<HourOfEvents>(
      tenantID === undefined ? ACCOUNT_OF_EVENTS : ACCOUNT_OF_TENANTS_EVENTS,
      tenantID === undefined ? [from, to, ...ids] : [from, to, ...ids, tenantID],
    );
    return { runs, events };
  });
}

/** The time in an id is earlier than `created_at` and comes from another clock: that of the process which made the id. */
const MARGIN_MS = 600_000;
const IDS_BETWEEN = 'id >= $3::uuid and id < $4::uuid and created_at >= $1 and created_at < $2';

const account = (where: string) => `
select hour, origin, accepted, completed, failed, cancelled, "inFlight", accepted - completed - failed - cancelled - "inFlight" as difference
from (
  select date_trunc('hour', created_at, 'UTC') as hour, coalesce(caller ->> 'origin', 'direct') as origin, count(*)::int as accepted,
    count(*) filter (where completed_at is not null and status = 'COMPLETED')::int as completed,
    count(*) filter (where completed_at is not null and status = 'FAILED')::int as failed,
    count(*) filter (where completed_at is not null and status = 'CANCELLED')::int as cancelled,
    count(*) filter (where completed_at is null and status in ('PENDING', 'RUNNING', 'WAITING') and ${CONTINUES})::int as "inFlight"
  from workflow_instance i where map_id is null and ${where} group by 1, 2
) counted order by 1, 2`;

const IN_PERIOD = 'e.id >= $3::uuid and e.id < $4::uuid and e.received_at >= $1 and e.received_at < $2';

const accountOfEvents = (from: string) => `
select hour, received, done, filtered, duplicate, dead, replaced, pending,
  received - done - filtered - duplicate - dead - replaced - pending as difference
from (
  select date_trunc('hour', received_at, 'UTC') as hour, count(*)::int as received,
    ${(['done', 'filtered', 'duplicate', 'dead', 'replaced'] satisfies FinalState[])
      .map((state) => `count(*) filter (where finished_at is not null and state = '${state}')::int as ${state}`)
      .join(', ')},
    count(*) filter (where finished_at is null and state = 'pending')::int as pending
  from ${from} group by 1
) counted order by 1`;

const ACCOUNT_OF_EVENTS = accountOfEvents(
  `(select received_at, finished_at, state from listener_event e where ${IN_PERIOD}) e`,
);

// In the index the listener comes before the id, so a range of ids is read for each listener of the tenant.
export const ACCOUNT_OF_TENANTS_EVENTS = `
with recursive listeners as (
  select (select listener_id from listener_event where tenant_id = $5::uuid order by listener_id limit 1) as id
  union all
  select (select listener_id from listener_event where tenant_id = $5::uuid and listener_id > l.id order by listener_id limit 1)
  from listeners l where l.id is not null
)
${accountOfEvents(`listeners l cross join lateral (
    select received_at, finished_at, state from listener_event e where e.tenant_id = $5::uuid and e.listener_id = l.id and ${IN_PERIOD}) e`)}`;

/** Open runs without a worker, a position in the queue or a wake time: withheld by a pause, waiting for a child or an answer, or forgotten. */
export const LEFT = 'completed_at is null and ready_at is null and held_by is null and wake_at is null';

const WAITS_FOR_NOTHING =
  'kept_since is null and (select true from run_wait w where w.instance_id = i.id limit 1) is null';

/** Reads a page of the runs that match `LEFT`, after the id `$1`: the last id of the page, and the forgotten runs, which nothing continues. */
export const FIND_FORGOTTEN = `
select max(id::text)::uuid as last, count(*)::int as looked_at,
  (array_agg(id) filter (where is_forgotten))[1:20] as ids, count(*) filter (where is_forgotten)::int as forgotten
from (select id, ${WAITS_FOR_NOTHING} as is_forgotten from workflow_instance i where ${LEFT} and id > $1::uuid order by id limit $2) slice`;

/** Counts runs whose status contradicts `completed_at`, up to 10,000. These and the forgotten runs are the `difference` of an accounting. */
export const COUNT_CONTRADICTIONS = `
select count(*)::int as value from (
  select from workflow_instance i
  where case when (completed_at is null) = (status in ('COMPLETED', 'FAILED', 'CANCELLED')) then true else false end
    and not (${LEFT} and ${WAITS_FOR_NOTHING})
  order by id limit 10000) found`;
