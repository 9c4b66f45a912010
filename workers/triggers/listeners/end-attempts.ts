import type { JsonObject } from '#shared/core/json.ts';
import { storable, storableJSON } from '#shared/db/storable.ts';
import type { NewRun } from '#shared/runs/accept.ts';
import type { Runs } from '#shared/runs/runs.ts';
import { STOP_LISTENERS } from '#shared/triggers/listeners/breakers.ts';
import { END_ATTEMPTS, FORGET_DEDUP, LOCK_EVENTS, SAVE_TO_BUFFERS } from '#shared/triggers/listeners/event-rows.ts';
import { type DeferredBy, type EventState, retentionSeconds } from '#shared/triggers/listeners/event-states.ts';
import type { BufferedEvent } from './actions/action.ts';
import { noteTargets, type OfTarget } from './note-targets.ts';

/** How an attempt to process an event has ended. */
export interface AttemptEnd {
  eventID: string;
  state: Exclude<EventState, 'duplicate' | 'replaced'>;
  /** Inserted in the transaction that writes the state, so that neither is there without the other. */
  runs: readonly NewRun[];
  /** Inserted in the same transaction. */
  saved?: readonly BufferedEvent[];
  /** Error of an attempt that has failed. */
  error?: JsonObject;
  /** Stack of the error of a dead event, for operators: it names files of the service, so no tenant gets it. */
  stack?: string | null;
  /** Outcome of each action, by its id. */
  actions?: JsonObject;
  /** Seconds until the next attempt, if the event stays pending. */
  waitSeconds?: number;
  /** Why the event is deferred instead, if it stays pending. */
  deferredBy?: DeferredBy;
  /** Outcome of the attempt for the target of the listener. */
  ofTarget?: OfTarget | undefined;
  /** Why the listener is stopped. */
  stops?: { listenerID: string; error: string };
}

/**
 * Ends attempts in one transaction. An event that another delivery of its job has finished meanwhile is skipped, with its runs:
 * answers with the ids that were written.
 */
export async function endAttempts(runs: Pick<Runs, 'acceptWithin'>, ends: readonly AttemptEnd[]): Promise<Set<string>> {
  return runs.acceptWithin(async (client, accept) => {
    const ids = ends.map(({ eventID }) => eventID);
    const { rows } = await client.query<{ id: string }>({ name: 'lock_events', text: LOCK_EVENTS, values: [ids] });
    const open = new Set(rows.map(({ id }) => id));
    const openEnds = ends.filter(({ eventID }) => open.has(eventID));
    if (openEnds.length === 0) return open;
    const started = openEnds.flatMap((end) => end.runs);
    if (started.length > 0) await accept(started);
    const saved = openEnds.flatMap((end) => end.saved ?? []);
    if (saved.length > 0) {
      const buffered = storableJSON(JSON.stringify(saved.map(bufferRowOf)));
      await client.query({ name: 'save_to_buffers', text: SAVE_TO_BUFFERS, values: [buffered] });
    }
    const values = [storableJSON(JSON.stringify(openEnds.map(rowOf)))];
    await client.query({ name: 'end_attempts', text: END_ATTEMPTS, values });
    const dead = openEnds.filter(({ state }) => state === 'dead').map(({ eventID }) => eventID);
    if (dead.length > 0) await client.query({ name: 'forget_deliveries', text: FORGET_DEDUP, values: [dead] });
    await noteTargets(client, openEnds);
    const stops = new Map(openEnds.flatMap((end) => (end.stops ? [[end.stops.listenerID, end.stops.error]] : [])));
    const stopped = [...stops].map(([listener_id, error]) => ({ listener_id, error: storable(error) }));
    if (stopped.length > 0) await client.query(STOP_LISTENERS, [JSON.stringify(stopped)]);
    return open;
  });
}

function rowOf({ eventID, state, runs, error, stack = null, actions, waitSeconds = 0, deferredBy }: AttemptEnd) {
  return {
    id: eventID,
    state,
    failed: error ? 1 : 0,
    error: error ?? null,
    stack,
    instance_id: runs[0]?.id ?? null,
    actions: actions ?? null,
    wait_s: waitSeconds,
    held_by: deferredBy ?? null,
    kept_s: state === 'pending' ? null : retentionSeconds(state),
  };
}

function bufferRowOf({ id, tenantID, listenerID, eventID, bufferName, ...saved }: BufferedEvent, n: number) {
  return {
    n,
    id,
    tenant_id: tenantID,
    listener_id: listenerID,
    event_id: eventID,
    buffer_name: storable(bufferName),
    event_data: saved.eventData,
    event_meta: saved.eventMeta,
    bytes: Buffer.byteLength(JSON.stringify(saved.eventData)),
    received_at: saved.receivedAt,
    kept_s: saved.retentionHours === null ? null : saved.retentionHours * 3_600,
  };
}
