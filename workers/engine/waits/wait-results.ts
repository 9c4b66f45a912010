import { createBatcher } from '#shared/concurrency/batcher.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { isRefusedStatement, type Pool } from '#shared/db/pool.ts';
import type { ChildError, MapOutcome, TakenEvent, WaitResult } from '../../nodes/executor.ts';
import type { ReadEventWaits } from './event-waits.ts';
import type { OpenQuestion } from './reminders.ts';

export interface WaitRow {
  nodeID: string;
  /** The key of its path: see `pathKey`. */
  path: string;
  kind: 'time' | 'child' | 'input' | 'event' | 'chunks';
  /** The id of the child run, the question, the wait for an event, or the map. */
  ref: string | null;
  dueInMs: number | null;
  /** Milliseconds from the beginning of the wait to its end. */
  spanMs: number | null;
  /** Set for a question with reminders. Its times are by the clock of the database. */
  question?: OpenQuestion;
  /** Null: the wait is not over. */
  waitResult: WaitResult | null;
}

interface Row {
  instance_id: string;
  node_id: string;
  path: string;
  kind: 'time' | 'child' | 'input' | 'event' | 'chunks';
  ref: string | null;
  due_in_ms: number | null;
  span_ms: number | null;
  child_status: 'COMPLETED' | 'FAILED' | 'CANCELLED' | null;
  child_output: Json;
  child_error: ChildError | null;
  map_outcome: MapOutcome | null;
  request_status: string | null;
  submitted_data: JsonObject | null;
  /** The time to answer is over, and the request is still PENDING. */
  is_late: boolean | null;
  reminded: number;
  request_config: JsonObject | null;
  asked_ms: number | null;
  expires_in_ms: number | null;
}

/** Reads waits of a run, each with its result, if it has one. */
export type ReadWaits = (instanceID: string) => Promise<WaitRow[]>;

/** The waits that are read: all, or those that may be over or have reminders. Of thousands of waits of a run, often only one is over. */
export type WaitsToRead = keyof typeof statements;

/**
 * Reads of one round of the event loop share a statement: when thousands of delays end at once, each of their runs reads its waits. If the time
 * of requests is over, they are expired and the waits are read again, because a person may have answered in the meantime.
 */
export function createReadWaits(pool: Pool, readEventWaits: ReadEventWaits, which: WaitsToRead): ReadWaits {
  async function read(ids: readonly string[]): Promise<Row[]> {
    const { rows } = await pool.query<Row>({ ...statements[which], values: [ids] });
    return rows;
  }

  return createBatcher(async (ids: string[]) => {
    let rows = await read(ids);
    const late = rows.filter(({ is_late }) => is_late).map(({ instance_id }) => instance_id);
    if (late.length > 0) {
      await pool.query(EXPIRE, [late]);
      rows = await read(ids);
    }
    const refs = rows.flatMap(({ kind, ref }) => (kind === 'event' && ref !== null ? [ref] : []));
    const events = refs.length > 0 ? await readEventWaits(refs) : new Map();
    const byRun = Map.groupBy(rows, ({ instance_id }) => instance_id);
    return ids.map((id) => (byRun.get(id) ?? []).map((row) => toWait(row, events)));
  }, isRefusedStatement);
}

type Events = ReadonlyMap<string, TakenEvent | null>;

function toWait(row: Row, events: Events): WaitRow {
  return {
    nodeID: row.node_id,
    path: row.path,
    kind: row.kind,
    ref: row.ref,
    dueInMs: row.due_in_ms,
    spanMs: row.span_ms,
    ...questionOf(row),
    waitResult: row.kind === 'event' ? eventResult(events.get(row.ref ?? '')) : waitResultOf(row),
  };
}

function questionOf(row: Row): { question?: OpenQuestion } {
  const { request_config: config, asked_ms: askedMs, expires_in_ms: expiresInMs, reminded } = row;
  return config === null || askedMs === null ? {} : { question: { config, askedMs, expiresInMs, reminded } };
}

function eventResult(event: TakenEvent | null | undefined): WaitResult | null {
  return event === undefined ? null : { kind: 'event', event };
}

function waitResultOf(row: Row): WaitResult | null {
  if (row.kind === 'time')
    return row.due_in_ms !== null && row.due_in_ms <= 0 ? { kind: 'time', ms: row.span_ms ?? 0 } : null;
  if (row.kind === 'input')
    return row.request_status === 'PENDING'
      ? null
      : { kind: 'input', submission: row.request_status === 'COMPLETED' ? row.submitted_data : null };
  if (row.kind === 'chunks')
    return row.map_outcome && row.ref ? { kind: 'chunks', mapID: row.ref, outcome: row.map_outcome } : null;
  return childResultOf(row);
}

function childResultOf(row: Row): WaitResult | null {
  if (row.child_status === null || row.ref === null) return null;
  return {
    kind: 'child',
    status: row.child_status,
    instanceID: row.ref,
    output: row.child_output,
    error: row.child_error,
  };
}

// The first of the two wins: the person's answer or the expiry.
const EXPIRE = `
update collection_request set status = 'EXPIRED', updated_at = now()
where instance_id = any($1::uuid[]) and status = 'PENDING' and expires_at <= now()`;

// The select around the ids hides their number, so that the planner keeps one plan.
const WAITS = `
select w.instance_id, w.node_id, w.path, w.kind, w.ref, extract(epoch from w.due_at - clock_timestamp())::float8 * 1000 as due_in_ms,
       extract(epoch from w.due_at - w.created_at)::float8 * 1000 as span_ms,
       case when child.completed_at is not null then child.status end as child_status,
       child.output as child_output, child.error as child_error, map.outcome as map_outcome,
       request.status as request_status, request.submitted_data, request.status = 'PENDING' and request.expires_at <= now() as is_late,
       w.reminded, case when jsonb_exists(request.collection_config, 'reminders') then request.collection_config end as request_config,
       extract(epoch from clock_timestamp() - request.created_at)::float8 * 1000 as asked_ms,
       extract(epoch from request.expires_at - clock_timestamp())::float8 * 1000 as expires_in_ms
from unnest((select $1::uuid[])) as r(id)
join run_wait w on w.instance_id = r.id
left join workflow_instance child on w.kind = 'child' and child.id = w.ref
left join collection_request request on w.kind = 'input' and request.id = w.ref
left join run_map map on w.kind = 'chunks' and map.id = w.ref`;

// All waits for events are included: whether their event has come is read by another statement.
const MAY_BE_OVER = `
where w.kind = 'event' or w.due_at <= clock_timestamp() or child.completed_at is not null or map.outcome is not null
   or request.status <> 'PENDING' or request.expires_at <= now() or jsonb_exists(request.collection_config, 'reminders')`;

const statements = {
  all: { name: 'read_waits', text: WAITS },
  over: { name: 'read_waits_over', text: WAITS + MAY_BE_OVER },
};
