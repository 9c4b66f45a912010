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
  /** Reminders to be told to those who may answer, when the commit is durable. */
  reminders: ReminderMessage[];
  release: 'none' | 'park' | 'yield';
  /** Set by the terminal commit. */
  end: { status: 'COMPLETED' | 'FAILED' | 'CANCELLED'; output: Json; error: RunError | null } | null;
  /** JSON text of the run's state after this commit, to be stored for a later restore. */
  checkpoint: string | null;
  /** Activations to execute once this commit is durable. */
  next: Activation[];
  /** Reads of waits to make once this commit is durable. */
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
  /** First attempts that this outcome starts. Their events have no rows of their own. */
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
  reminded: number;
}

/** The event that a node waits for. */
export interface AwaitedEvent {
  name: string;
  key: string;
  /** How old an event may be that came before. */
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

/** An activation that works off its items in chunks. */
export interface PendingMap {
  id: string;
  activation: Activation;
  attempt: number;
  plan: MapPlan;
  /** The scope around it. */
  scope: JsonObject;
  items: Json[];
  /** Items of a chunk. */
  size: number;
  /** Bytes of all results together. */
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

/** How many numbers the events of a commit take. */
export function numbersOf({ events }: PendingCommit): number {
  let count = events.length;
  for (const { started } of events) count += started.length;
  return count;
}
