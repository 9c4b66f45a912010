import type { z } from 'zod';
import type { Pool } from '#shared/db/pool.ts';
import type { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import type { RunTrigger, Starter } from './schemas.ts';

type Run = Pick<WorkflowInstance, 'id' | 'tenantID' | 'caller' | 'parentID'>;

/** The person or the API key that started a run; null if a job, a listener or another run did. */
export function presentStarter({ caller }: Pick<Run, 'caller'>): z.input<typeof Starter> | null {
  const { type, id, userID, origin, requestedBy } = caller;
  if (requestedBy) return requestedBy;
  if (type === 'system' || (origin !== 'direct' && origin !== 'test')) return null;
  return { type, id, ...(userID && { userID }) };
}

/** The job and its tick, the listener and its event, the app page or the failed run that started a run. */
export async function findTrigger(pool: Pool, run: Run): Promise<z.input<typeof RunTrigger> | null> {
  const { origin, originID } = run.caller;
  if (!originID) return null;
  if (origin === 'cron') return { type: 'cronJob', id: originID, ...(await findTick(pool, run)) };
  if (origin === 'listener') return { type: 'listener', id: originID, ...(await findEvent(pool, run, originID)) };
  if (origin === 'appPage') return { type: 'appPage', id: originID };
  // A run that another one called names that as its parent.
  return origin === 'workflow' && run.parentID === null ? { type: 'failedRun', id: originID } : null;
}

async function findTick(pool: Pool, { id, tenantID }: Run) {
  const { rows } = await pool.query<{ tickID: string; scheduledAt: Date }>(TICK, [id, tenantID]);
  return rows[0] && { tickID: rows[0].tickID, scheduledAt: rows[0].scheduledAt.toISOString() };
}

const TICK = `
select t.id as "tickID", t.scheduled_at as "scheduledAt" from workflow_instance i join cron_tick t on t.id = i.cron_tick_id
where i.id = $1 and i.tenant_id = $2 and t.tenant_id = $2`;

/** The id of a run that an event has started begins with the milliseconds of that event: only events of that time are read. */
async function findEvent(pool: Pool, { id, tenantID }: Run, listenerID: string) {
  const time = id.slice(0, 13);
  const [first, last] = [`${time}-0000-0000-000000000000`, `${time}-ffff-ffff-ffffffffffff`];
  const { rows } = await pool.query<{ eventID: string }>(EVENT, [tenantID, listenerID, first, last, id]);
  return rows[0];
}

const EVENT = `
select id as "eventID" from listener_event
where tenant_id = $1 and listener_id = $2 and id between $3 and $4
  and (instance_id = $5 or exists (select from jsonb_each(actions) each where each.value ->> 'instanceID' = $5::text))
limit 1`;
