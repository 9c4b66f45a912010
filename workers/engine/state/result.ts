import { jsonOf } from '#shared/concurrency/write-json.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import type { RunEventPayload } from '#shared/messaging/realtime/run-events.ts';
import type { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import type { PendingCommit } from './pending-commit.ts';
import type { Source } from './source.ts';

/** The result of a run from the end nodes that it has reached: their outputs, where a later one replaces keys, and their worst status. */
export interface Result {
  readonly output: JsonObject;
  status: 'success' | 'failure' | 'cancelled';
  nodeID: string | null;
  path: IterationPath;
  /** The message of the end node with the worst status. */
  message: string | null;
  reached: boolean;
  /** For each key of the output, the output of the end node that set it. */
  readonly sources: Map<string, Source>;
  /** The output of the end node that set the status. */
  statusSource: Source | null;
}

export function emptyResult(): Result {
  return {
    output: {},
    status: 'success',
    nodeID: null,
    path: [],
    message: null,
    reached: false,
    sources: new Map(),
    statusSource: null,
  };
}

/** Adds the output of an end node. */
export function addEnd(
  result: Result,
  output: JsonObject,
  { nodeID, path, source }: { nodeID: string; path: IterationPath; source: Source },
): void {
  if (isJsonObject(output.workflowOutput)) {
    Object.assign(result.output, output.workflowOutput);
    for (const key of Object.keys(output.workflowOutput)) result.sources.set(key, source);
  }
  const status = output.status === 'failure' || output.status === 'cancelled' ? output.status : 'success';
  if (!result.reached || severity[status] > severity[result.status]) {
    result.status = status;
    result.nodeID = nodeID;
    result.path = path;
    result.message = typeof output.message === 'string' ? output.message : null;
    result.statusSource = source;
  }
  result.reached = true;
}

const severity = { success: 0, cancelled: 1, failure: 2 };

/** The status, output and error of a run whose branches have all ended. If it reached no end node, it completes without an output. */
export function endOf({ output, status, nodeID, path, message, reached }: Result): NonNullable<PendingCommit['end']> {
  const attempt = nodeID === null ? null : 1;
  const failure = {
    code: 'NODE_FAILED',
    message: message || 'The run ended with status "failure"',
    nodeID,
    attempt,
    frame: path,
  };
  return {
    status: statusOf[status],
    output: reached ? output : null,
    error: status === 'failure' ? failure : null,
  };
}

const statusOf = { success: 'COMPLETED', failure: 'FAILED', cancelled: 'CANCELLED' } as const;

/** JSON text of the payload of a run's last event, or null. */
export function endPayload({ output, error }: { output: Json; error: object | null }): string | null {
  if (!error && output === null) return null;
  return `{"output":${jsonOf(output)}${error ? `,"error":${JSON.stringify(error)}` : ''}}`;
}

/** Adds a field to the JSON text of a payload, which must not have this field yet. */
export function withField(payload: string | null, name: keyof RunEventPayload, value: unknown): string {
  const field = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return payload === null ? `{${field}}` : `${payload.slice(0, -1)},${field}}`;
}
