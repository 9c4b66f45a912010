import type { Caller } from '#shared/core/caller.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { PagePush } from '#shared/messaging/realtime/listener-events.ts';
import type { NewRun } from '#shared/runs/accept.ts';

/** Context of an action, beside its config. */
export interface ActionContext {
  eventID: string;
  actionID: string;
  tenantID: string;
  listenerID: string;
  source: string;
  receivedAt: Date;
  /** The event, as changed by earlier actions. */
  event: JsonObject;
  /** The listener's creator, with whose permissions the action is performed. */
  caller: Caller;
  awaitedBy: string | null;
  signal: AbortSignal;
}

/** Inserted when the attempt ends, in the transaction that writes the outcome of the action. */
export interface BufferedEvent {
  id: string;
  tenantID: string;
  listenerID: string;
  eventID: string;
  bufferName: string;
  receivedAt: Date;
  eventData: JsonObject;
  eventMeta: JsonObject;
  /** Null: only the number of events limits its retention. */
  retentionHours: number | null;
  maxEvents: number;
}

/**
 * Outcome of an action. A run, a buffered event and a page push are written or sent when the attempt ends; any other effect has happened
 * already. `event` replaces the event for the actions that follow.
 */
export interface ActionOutcome {
  run?: NewRun;
  saved?: BufferedEvent;
  pagePush?: PagePush;
  event?: JsonObject;
  isFiltered?: true;
  /** Result that the record of the action shows. */
  result?: Json;
}

export type RunAction = (config: JsonObject, context: ActionContext) => Promise<ActionOutcome>;
