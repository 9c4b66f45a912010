import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { ServerMessage, ServerPayload } from '#shared/messaging/realtime/events.ts';
import { presentRunEvent, type RunEventRow } from '#shared/messaging/realtime/run-events.ts';
import { contextPatch } from '#shared/workflow/resolve-config.ts';
import type { GraphPart, GraphParts } from './graph-nodes.ts';

/** Bytes of the JSON text of a context that is read for one message. */
const MAX_READ = 256 * 1024;
/** Bytes of a context that is sent with every node. */
const MAX_CACHED = 16 * 1024;
/** Bytes of the contexts that all bridges of a socket cache. */
const MAX_OF_SOCKET = 256 * 1024;

export interface ShownContext {
  /** Null if it is too large for a message. */
  values: JsonObject | null;
  contextOmitted?: string[];
}

/**
 * The `ctx` of a run outside of loop bodies, as messages show it. Outputs that messages leave out are missing, and their
 * keys are listed.
 */
export class RunContext {
  readonly #parts: GraphParts;
  readonly #maxLength: number;
  readonly #omitted: Set<string>;
  #values: JsonObject | null;
  #length: number;

  constructor(parts: GraphParts, values: JsonObject, { maxLength = MAX_READ, omitted = [] as readonly string[] } = {}) {
    this.#parts = parts;
    this.#maxLength = maxLength;
    this.#omitted = new Set(omitted);
    this.#values = values;
    this.#length = 0;
    this.#measure();
  }

  /** The length of its JSON text; 0 if it is not cached. */
  get length(): number {
    return this.#values ? this.#length : 0;
  }

  get shown(): ShownContext {
    const omitted = [...this.#omitted];
    // Safe to share: the object is replaced by later messages, not changed.
    return { values: this.#values, ...(omitted.length > 0 && { contextOmitted: omitted }) };
  }

  take({ event, payload }: ServerMessage): void {
    if (event !== 'workflow_node_update' || payload.frame.length > 0 || !hasLeft(payload)) return;
    const part = this.#parts.get(payload.nodeID);
    if (part && this.#values) this.#set(part, this.#values, payload);
  }

  #set(part: GraphPart, values: JsonObject, { output, outputOmitted }: ServerPayload<'workflow_node_update'>): void {
    const { outputVariable: name } = part;
    if (outputOmitted && name !== null) {
      const { [name]: _, ...rest } = values;
      this.#values = rest;
      this.#omitted.add(name);
    }
    const patch = isJsonObject(output) ? contextPatch(part, part.config, output) : null;
    if (patch) {
      for (const key of Object.keys(patch)) this.#omitted.delete(key);
      this.#values = { ...values, ...patch };
    }
    this.#measure();
  }

  #measure(): void {
    this.#length = JSON.stringify(this.#values).length;
    if (this.#length > this.#maxLength) this.#values = null;
  }
}

/** Whether the node is left by an exit: a failed attempt that is repeated is not. */
export function hasLeft({ status, exit }: ServerPayload<'workflow_node_update'>): boolean {
  return status === 'SUCCESS' || (status === 'FAILED' && exit !== null);
}

interface RunPosition {
  instanceID: string;
  input: JsonObject;
  parts: GraphParts;
  /** The number of the last event that the context includes. */
  seq: number;
}

/** The context of a run after an event. */
export async function readRunContext(pool: Pool, { instanceID, input, parts, seq }: RunPosition): Promise<RunContext> {
  const context = new RunContext(parts, { input });
  if (seq === 0) return context;
  const { rows } = await pool.query<RunEventRow>({
    name: 'context_events',
    text: CONTEXT_EVENTS,
    values: [instanceID, seq, MAX_READ],
  });
  for (const message of rows.flatMap(presentRunEvent)) if (message.payload.seq <= seq) context.take(message);
  return context;
}

/**
 * A context that a bridge keeps up to date; null if it is too large beside the `cached` bytes that the socket's bridges
 * keep already.
 */
export function toKeep(parts: GraphParts, { values, contextOmitted }: ShownContext, cached: number): RunContext | null {
  const maxLength = Math.min(MAX_CACHED, MAX_OF_SOCKET - cached);
  if (!values || maxLength <= 0) return null;
  return new RunContext(parts, values, { maxLength, ...(contextOmitted && { omitted: contextOmitted }) });
}

// Once the payloads before an event exceed the limit, its output is left out, and the keys that it set are listed as
// omitted.
const CONTEXT_EVENTS = `
select "instanceID", seq, "nodeID", iteration, frame, attempt, status, exit, at, started,
  case when before > $3 then '{"outputOmitted": true}'::jsonb else payload end as payload, null as log
from (
  select *, coalesce(sum(pg_column_size(payload)) over (order by seq rows between unbounded preceding and 1 preceding), 0) as before
  from (
    select instance_id as "instanceID", seq, node_id as "nodeID", iteration, frame, attempt, status, exit, created_at as at, started,
           case when brief is not null then brief || '{"outputOmitted": true}' else payload end as payload
    from run_event
    where instance_id = $1 and seq <= $2 + coalesce(jsonb_array_length(started), 0) and node_id is not null
      and coalesce(frame, '[]') = '[]' and status in ('SUCCESS', 'FAILED')
  ) event
) summed
order by seq`;
