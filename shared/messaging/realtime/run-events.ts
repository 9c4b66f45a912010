import type { Json, JsonObject } from '../../core/json.ts';
import type { MapProgress } from '../../workflow/map-plan.ts';
import { type IterationPath, innermost } from '../../workflow/progress/iteration-path.ts';
import type { NodeStatus, RunStatus } from '../../workflow/progress/status.ts';
import type { ShownError } from '../../workflow/run-error.ts';
import { type LogSize, type Printed, wordCut } from '../../workflow/run-log.ts';
import type { ServerMessage } from './events.ts';
import type { RunWait } from './run-shapes.ts';

/** A node that the outcome of another one has started. With its frame (its iterations of loops) if the outcome has a different one. */
export type Started = string | { nodeID: string; frame: IterationPath };

/** A row of `run_event`, as the engine writes it and the gateway reads it. */
export interface RunEventRow {
  instanceID: string;
  seq: number;
  nodeID: string | null;
  iteration: number;
  frame: IterationPath | null;
  attempt: number;
  status: string;
  exit: string | null;
  at: Date;
  payload: RunEventPayload | null;
  /** The log of the attempt. Null or absent: it is empty. */
  log?: Printed | null;
  /** Nodes that the outcome has started. The row covers their starts, and `seq` is the number of the last. Null: none, or an older row. */
  started: Started[] | null;
}

/** Replaces a large output in rows that are read without it. */
export interface LargeOutput {
  /** The length of its JSON text. */
  length: number;
  /** The key of the output that is the value of the node; null if nothing of the output is in `ctx`. */
  name: string | null;
  /** The keys of `ctx` that the output sets. */
  keys: string[];
  /** The first characters of its JSON text. */
  preview: string;
}

export interface RunEventPayload {
  output?: Json;
  /** Only in `brief`, the payload that is read where a large output is not wanted. */
  large?: LargeOutput;
  /** Set in place of an output that is too large to be read for a message; it is not stored. */
  outputOmitted?: true;
  error?: ShownError & { nodeID?: string | null; attempt?: number | null; frame?: IterationPath };
  /** Set on SUSPENDED: what the node waits for. */
  wait?: 'time' | 'input' | 'child' | 'event' | 'iterations' | 'chunks';
  /** Set while the node works off items in chunks. */
  mapID?: string;
  progress?: MapProgress;
  request?: { collectionRequestID: string; collectionType: string; collectionConfig: JsonObject };
  childInstanceID?: string;
  /** A reminder was sent to those who may answer: the `number`th of `of`. */
  reminder?: { collectionRequestID: string; number: number; of: number };
  event?: { name: string; key: string };
  dueAt?: string;
  /** The run that has computed the result, if this run has reused it. */
  reusedFrom?: string;
  /** Set in a test run: the output was given with it, and the node was not executed. */
  isPinned?: true;
  /** Set in a dry run: the write that the node would have made. */
  refusedWrite?: string;
  /** How the node repeats its body. The items themselves are in the output. */
  repeat?: Repeat;
  /** Set on FAILED if no exit of the node handles the failure: the item fails, and the node that repeats the body handles that. */
  failsItem?: boolean;
  /** How much the attempt has written into the log. */
  log?: LogSize;
  /** The run was WAITING before this event. */
  goesOn?: true;
  /** The run is WAITING after this event. */
  waits?: RunWait;
  /** The run was WAITING before this event, and is so after it. */
  stillWaits?: true;
}

/** How a node repeats its body, apart from the items. */
export interface Repeat {
  itemVariable: string;
  indexVariable: string;
  /** Pause between two items. */
  delayMs: number;
  /** The effect of an item's failure: the node fails, or its result is the error, or it has no result. */
  failedItems: 'fail' | 'keep' | 'skip';
  /** How many items may fail: one more fails the node. Absent: no limit. */
  tolerated?: number;
}

/** Characters of an output that clients get with its event. */
export const MAX_INLINE_LENGTH = 16 * 1024;

type Covering = Pick<RunEventRow, 'seq' | 'nodeID' | 'iteration' | 'frame' | 'attempt' | 'status' | 'started'>;

/** The events that a row covers, in order: its own, then the starts of nodes. */
export function eventsOf<R extends Covering & { payload?: unknown; exit?: string | null }>(row: R): R[] {
  const { seq, started } = row;
  if (!started || started.length === 0) return [row];
  const first = seq - started.length;
  const starts = started.map((node, at): R => {
    const frame = typeof node === 'string' ? row.frame : node.frame;
    return {
      ...row,
      seq: first + at + 1,
      nodeID: typeof node === 'string' ? node : node.nodeID,
      frame,
      iteration: innermost(frame ?? []),
      attempt: 1,
      status: 'RUNNING',
      started: null,
      ...('payload' in row && { payload: null }),
      ...('log' in row && { log: null }),
      ...('exit' in row && { exit: null }),
    };
  });
  return [{ ...row, seq: first, started: null }, ...starts];
}

/** The messages a client gets for one row, in order. */
export function presentRunEvent(row: RunEventRow): ServerMessage[] {
  const messages = eventsOf(row).flatMap(presentEvent);
  for (const [at, { payload }] of messages.entries())
    if (messages[at + 1]?.payload.seq === payload.seq) payload.more = true;
  return messages;
}

/** Fields that only few events of nodes have. */
function moreOf(payload: RunEventPayload | null) {
  const { reusedFrom, progress, isPinned, refusedWrite } = payload ?? {};
  return {
    ...(reusedFrom && { reusedFrom }),
    ...(isPinned && { isPinned }),
    ...(refusedWrite !== undefined && { refusedWrite }),
    ...(progress && { progress }),
  };
}

function presentEvent(row: RunEventRow): ServerMessage[] {
  const { instanceID, seq, nodeID, iteration, attempt, exit, payload } = row;
  const frame = row.frame ?? [];
  const at = row.at.toISOString();
  const result = payload?.outputOmitted ? omitted : inlineOutput(payload?.output ?? null);
  const statusIs = (status: RunStatus, more = {}): ServerMessage => ({
    event: 'workflow_status_update',
    payload: { instanceID, seq, status, output: null, error: null, at, ...more },
  });
  if (nodeID === null) {
    const error = payload?.error && {
      ...payload.error,
      nodeID: payload.error.nodeID ?? null,
      attempt: payload.error.attempt ?? null,
    };
    const { waits } = payload ?? {};
    return [statusIs(row.status as RunStatus, { ...result, error: error ?? null, ...(waits && { waiting: waits }) })];
  }
  const error = payload?.error ?? null;
  const messages: ServerMessage[] = [
    ...presentLog(row, nodeID),
    {
      event: 'workflow_node_update',
      payload: {
        instanceID,
        seq,
        nodeID,
        iteration,
        frame,
        attempt,
        status: row.status as NodeStatus,
        exit,
        ...result,
        error,
        ...moreOf(payload),
        at,
      },
    },
  ];
  if (payload?.request)
    messages.push({
      event: 'workflow_data_collection_request',
      payload: { instanceID, seq, nodeID, iteration, frame, ...payload.request },
    });
  // A reused result: the run that has computed it waited at that time, this run did not.
  if (payload?.reusedFrom) return messages;
  if (payload?.goesOn) messages.unshift(statusIs('RUNNING'));
  if (payload?.waits) messages.push(statusIs('WAITING', { waiting: payload.waits }));
  return messages;
}

function presentLog({ instanceID, seq, iteration, frame, attempt, at, log }: RunEventRow, nodeID: string) {
  if (!log) return [];
  const cut = { level: 'warn' as const, message: wordCut(log.cut), at: at.toISOString() };
  const lines = log.cut.lines > 0 ? [...log.lines, cut] : log.lines;
  return lines.map((line): ServerMessage => {
    const position = { instanceID, seq, nodeID, iteration, frame: frame ?? [], attempt };
    return { event: 'workflow_log', payload: { ...position, ...line } };
  });
}

const omitted = { output: null, outputOmitted: true };

function inlineOutput(output: Json): { output: Json; outputOmitted?: boolean } {
  if (output === null || typeof output === 'boolean' || typeof output === 'number') return { output };
  return JSON.stringify(output).length > MAX_INLINE_LENGTH ? omitted : { output };
}
