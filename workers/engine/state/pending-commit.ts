import type { Json, JsonObject } from '#shared/core/json.ts';
import type { ReminderMessage } from '#shared/messaging/realtime/reminders.ts';
import type { Governance } from '#shared/workflow/limits.ts';
import type { MapPlan } from '#shared/workflow/map-plan.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { NodeStatus, RunStatus } from '#shared/workflow/progress/status.ts';
import type { RunError } from '#shared/workflow/run-error.ts';
import type { EventLog } from './run-logs.ts';
import type { Source } from './source.ts';

/** Changes that the next commit of a run writes. */
export interface PendingCommit {
  events: PendingEvent[];
  waits: PendingWait[];
  /** Activations whose wait is over. */
  resolved: Activation[];
  children: PendingChild[];
  requests: PendingRequest[];
  maps: PendingMap[];
  /** Reminders of questions, to publish once the commit is durable. */
  reminders: ReminderMessage[];
  release: 'none' | 'park' | 'yield';
  /** Set by the terminal commit. */
  end: { status: 'COMPLETED' | 'FAILED' | 'CANCELLED'; output: Json; error: RunError | null } | null;
  /** JSON text of the run's state after this commit, to be stored for a later restore. */
  checkpoint: string | null;
  /** Activations to execute once this commit is durable. */
  next: Activation[];
  /** How many times to read the waits of the run once this commit is durable. */
  firstReads: number;
}

export interface PendingEvent {
  /** Null: the event is about the run itself. */
  activation: Activation | null;
  attempt: number;
  status: NodeStatus | RunStatus;
  exit: string | null;
  /** JSON text of a RunEventPayload, or null. */
  payload: string | null;
  /** The lines that the attempt has printed. */
  log?: EventLog | undefined;
  /** Activations whose attempt this outcome starts. The row of this event stores the starts; they have no rows of their own. */
  started: Activation[];
  /** The source of the output in the payload, if that is a part of `ctx` or of the result. */
  source?: Source;
}

export interface PendingWait {
  activation: Activation;
  kind: 'time' | 'child' | 'input' | 'event' | 'chunks';
  ref: string | null;
  /** Milliseconds from now, by the database's clock. Null: no end. */
  dueInMs: number | null;
  awaited: AwaitedEvent | null;
  /** How many reminders of a question have been recorded. */
  reminded: number;
}

/** The event that a node waits for. */
export interface AwaitedEvent {
  name: string;
  key: string;
  /** How long before the wait an event may have come. */
  lookbackMs: number;
}

export interface PendingChild {
  id: string;
  workflowID: string;
  versionID: string;
  nodeID: string;
  input: JsonObject;
  /** The limits of the child's workflow. */
  governance: Governance;
  timeoutMs: number;
}

export interface PendingRequest {
  id: string;
  activation: Activation;
  config: JsonObject;
  expiresInMs: number | null;
}

/** A map to create: the items of its activation are processed in chunks. */
export interface PendingMap {
  id: string;
  activation: Activation;
  attempt: number;
  plan: MapPlan;
  /** The values that its body may read from the `ctx` around it. */
  scope: JsonObject;
  items: Json[];
  /** Items per chunk. */
  size: number;
  /** The limit, in bytes, of the results of all items together. */
  maxResultSize: number;
}

export function emptyCommit(): PendingCommit {
  return {
    events: [],
    waits: [],
    resolved: [],
    children: [],
    requests: [],
    maps: [],
    reminders: [],
    release: 'none',
    end: null,
    checkpoint: null,
    next: [],
    firstReads: 0,
  };
}

/** Whether there is anything to commit. */
export function hasWork({ events, waits, release, end, next, firstReads }: PendingCommit): boolean {
  return (
    events.length > 0 || release !== 'none' || end !== null || waits.length > 0 || next.length > 0 || firstReads > 0
  );
}

/** How many numbers (`seq`) the events of a commit use, those of starts included. */
export function numbersOf({ events }: PendingCommit): number {
  let count = events.length;
  for (const { started } of events) count += started.length;
  return count;
}
