import type { Rights } from '#shared/access/policy/rights.ts';
import type { Caller } from '#shared/core/caller.ts';
import { FIRST_ID } from '#shared/core/ids.ts';
import type { Json } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import { accessTo } from '#shared/runs/send-event.ts';
import { EXPIRE_WAITS, FIND_REMEMBERED, READ_EVENT_WAITS, TAKE_EVENT } from '#shared/runs/workflow-event-rows.ts';
import type { TakenEvent } from '../../nodes/executor.ts';

/** Reads the events that were delivered to waits, by the ids of the waits. Absent: the wait is open. Null: it has expired without an event. */
export type ReadEventWaits = (ids: readonly string[]) => Promise<ReadonlyMap<string, TakenEvent | null>>;

interface Row {
  id: string;
  instanceID: string;
  tenantID: string;
  workflowID: string;
  isOpen: boolean;
  isLate: boolean | null;
  eventID: string | null;
  data: Json;
  sentAt: Date;
}

/**
 * Delivers stored events to open waits, and closes waits that have expired. An event that was stored in time wins over the expiry. A sender
 * stores its event before it looks for waits, and a wait is stored before this read: of the two commits, the later one sees the other.
 */
export function createReadEventWaits({ pool, rights }: { pool: Pool; rights: Rights }): ReadEventWaits {
  async function read(ids: readonly string[]): Promise<Row[]> {
    return (await pool.query<Row>(READ_EVENT_WAITS, [ids])).rows;
  }

  /** Finds the oldest stored event for a wait whose sender may send events to its workflow. */
  async function findRemembered({ id, tenantID, workflowID }: Row): Promise<string | null> {
    const permitted = new Map<string, boolean>();
    let after = BEFORE_ALL;
    for (;;) {
      const { rows } = await pool.query<{ id: string; caller: Caller; at: string }>(FIND_REMEMBERED, [
        id,
        after.at,
        after.id,
        AT_ONCE,
      ]);
      for (const event of rows) {
        const sender = JSON.stringify([event.caller.type, event.caller.id]);
        const isPermitted =
          permitted.get(sender) ?? (await rights.may({ tenantID, caller: event.caller }, accessTo(workflowID)));
        permitted.set(sender, isPermitted);
        if (isPermitted) return event.id;
      }
      const last = rows.at(-1);
      if (!last || rows.length < AT_ONCE) return null;
      after = last;
    }
  }

  /** Delivers a stored event to a wait. Returns whether the wait is over now: if there was an event, this process or another delivered one. */
  async function take(wait: Row): Promise<boolean> {
    const eventID = await findRemembered(wait);
    if (eventID === null) return false;
    await pool.query(TAKE_EVENT, [wait.id, eventID]);
    return true;
  }

  return async (ids) => {
    let rows = await read(ids);
    let isChanged = false;
    for (const wait of rows) if (wait.isOpen && (await take(wait))) isChanged = true;
    const late = rows.flatMap(({ id, isOpen, isLate }) => (isOpen && isLate ? [id] : []));
    if (late.length > 0) {
      await pool.query(EXPIRE_WAITS, [late]);
      isChanged = true;
    }
    if (isChanged) rows = await read(ids);
    return new Map(rows.flatMap((row) => (row.isOpen ? [] : [[row.id, eventOf(row)] as const])));
  };
}

const BEFORE_ALL = { at: '-infinity', id: FIRST_ID };
/** Stored events that one statement reads. */
const AT_ONCE = 100;

function eventOf({ eventID, data, sentAt }: Row): TakenEvent | null {
  return eventID === null ? null : { id: eventID, data, sentAt: sentAt.toISOString() };
}
