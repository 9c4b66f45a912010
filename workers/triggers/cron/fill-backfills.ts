import { calendarOf, ticksBetween } from '#shared/core/cron-calendar.ts';
import { newID } from '#shared/core/ids.ts';
import { inTransaction, type Pool, type PoolClient } from '#shared/db/pool.ts';
import { reasons } from '#shared/triggers/cron/reasons.ts';
import { roundRobinTenants } from '../../maintenance/round-robin.ts';

/** Ticks that are decided in one transaction. */
const PAGE = 100;
/** Ticks of one backfill. */
const MAX_BACKFILL = 1_000;
/** A job with so many waiting ticks gets no more from a backfill, because each poll of the job reads all of them. */
const MAX_WAITING = 20;
/** Backfills of a tenant that are examined to find one whose job can take more ticks. */
const CANDIDATES = 20;

interface Filling {
  id: string;
  tenantID: string;
  cronJobID: string;
  fromAt: Date;
  toAt: Date;
  cursorAt: Date | null;
  found: number;
  schedule: string;
  timezone: string;
}

/**
 * Adds a page of ticks of one backfill. Tenants take turns; of a tenant, the backfill is chosen that has waited longest and whose job
 * can take more ticks. The ticks and the backfill's cursor are written in one transaction, so an interrupted backfill continues where
 * it was. Returns whether there may be more to do at once.
 */
export function createBackfilling(pool: Pool): () => Promise<boolean> {
  return roundRobinTenants({
    pool,
    next: { name: 'cron_next_backfills', text: NEXT_TENANT },
    work: ({ tenantID }) => inTransaction(pool, (client) => fillOldest(client, tenantID)),
  });
}

async function fillOldest(client: PoolClient, tenantID: string): Promise<boolean> {
  const { rows } = await client.query<Filling>({
    name: 'cron_oldest_backfill',
    text: OLDEST_BACKFILL,
    values: [tenantID],
  });
  const [backfill] = rows;
  if (backfill) await fillPage(client, backfill);
  else await client.query(WAIT, [tenantID]);
  return backfill !== undefined;
}

async function fillPage(client: PoolClient, backfill: Filling): Promise<void> {
  const { id, tenantID, cronJobID, fromAt, toAt, cursorAt, found, schedule, timezone } = backfill;
  const max = Math.min(PAGE, MAX_BACKFILL - found);
  const after = cursorAt ? cursorAt.getTime() : fromAt.getTime() - 1;
  const ticks = ticksBetween(calendarOf(schedule, timezone), after, { until: toAt.getTime(), max: max + 1 });
  const page = ticks.slice(0, max);
  const rows = page.map((tick) => ({ id: newID(), at: new Date(tick) }));
  const added = await client.query(ADD, [JSON.stringify(rows), tenantID, cronJobID, id, reasons.backfill]);
  const count = added.rowCount ?? 0;
  const isCut = ticks.length > max && found + count >= MAX_BACKFILL;
  const last = page.at(-1);
  const isFilled = isCut || ticks.length <= max;
  await client.query(ADVANCE, [
    id,
    count,
    page.length - count,
    last === undefined ? null : new Date(last),
    isFilled,
    isCut,
  ]);
  if (count > 0) await client.query(POLL_NOW, [cronJobID]);
}

const OPEN = 'filled_at is null and cancelled_at is null';

export const NEXT_TENANT = `
select tenant_id as "tenantID" from cron_backfill where ${OPEN} and tenant_id > $1::uuid order by tenant_id limit 1`;

const CANDIDATE_IDS = `
select id from cron_backfill where ${OPEN} and tenant_id = $1::uuid order by tenant_id, updated_at limit ${CANDIDATES}`;

export const OLDEST_BACKFILL = `
select b.id, b.tenant_id as "tenantID", b.cron_job_id as "cronJobID", b.from_at as "fromAt", b.to_at as "toAt", b.cursor_at as "cursorAt", b.found,
  j.cron_job_schedule as schedule, j.timezone
from cron_backfill b join cron_job j on j.id = b.cron_job_id
where b.id = any(array(${CANDIDATE_IDS})) and ${OPEN} and (
  select count(*) from (
    select from cron_tick t where t.cron_job_id = j.id and t.status = 'SCHEDULED' and (t.outcome = 'queued') limit ${MAX_WAITING}
  ) waiting) < ${MAX_WAITING}
order by b.updated_at limit 1 for no key update of b, j skip locked`;

// A time for which the job has a tick already, started as scheduled or by hand, gets no second one, unless it was missed or skipped.
const ADD = `
insert into cron_tick (id, tenant_id, cron_job_id, scheduled_at, trigger_type, status, outcome, reason, backfill_id)
select r.id, $2, $3, r.at, 'BACKFILL', 'SCHEDULED', 'queued', $5, $4 from jsonb_to_recordset($1::jsonb) as r(id uuid, at timestamptz)
on conflict (cron_job_id, scheduled_at) do update
set trigger_type = 'BACKFILL', status = 'SCHEDULED', outcome = 'queued', reason = excluded.reason, backfill_id = excluded.backfill_id,
    error = null, finished_at = null, last_scheduled_at = null
where cron_tick.status = 'FAILURE' and cron_tick.outcome in ('missed', 'skipped')
returning id`;

const ADVANCE = `
update cron_backfill set found = found + $2, left_out = left_out + $3, cursor_at = coalesce($4, cursor_at),
  filled_at = case when $5 then now() end, is_cut = $6, updated_at = clock_timestamp() where id = $1`;

const WAIT = `update cron_backfill set updated_at = clock_timestamp() where id = any(array(${CANDIDATE_IDS}))`;

const POLL_NOW = 'update cron_job set due_at = least(due_at, now()) where id = $1';
