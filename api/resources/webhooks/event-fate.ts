import type { Pool } from '#shared/db/pool.ts';
import type { EventState } from '#shared/triggers/listeners/event-states.ts';

/** The state of an event whose sender waits for a run, and whether it has one. */
export interface EventFate {
  state: EventState;
  hasRun: boolean;
  code: string;
  message: string;
  /** The event was refused for what the sender has sent, before any action. */
  isOfSender: boolean;
}

export async function findFate(
  pool: Pool,
  { eventID, tenantID, instanceID }: { eventID: string; tenantID: string; instanceID: string },
): Promise<EventFate | undefined> {
  const values = [eventID, tenantID, instanceID];
  const { rows } = await pool.query<EventFate>({ name: 'event_fate', text: FATE, values });
  return rows[0];
}

const FATE = `
select state, coalesce(error ->> 'code', '') as code, coalesce(error ->> 'message', '') as message,
  coalesce(error ->> 'code', '') = 'VALIDATION_ERROR' and coalesce(actions, '{}') = '{}' as "isOfSender",
  exists (select from workflow_instance i where i.id = $3 and i.tenant_id = $2) as "hasRun"
from listener_event where id = $1 and tenant_id = $2`;
