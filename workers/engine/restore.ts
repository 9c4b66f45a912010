import type { Pool } from '#shared/db/pool.ts';
import { isJsonObject } from '#shared/json.ts';
import type { RunEventPayload } from '#shared/realtime/events.ts';
import { contextPatch } from '#shared/workflow/arguments.ts';
import { begin, settle } from '#shared/workflow/graph.ts';
import { readWaits, type WaitRow } from './facts.ts';
import type { HeldRun } from './held-run.ts';

export interface Restored {
  /** Nodes to start, as a first or a further attempt: ready, and neither settled nor waiting. */
  ready: number[];
  waits: { index: number; wait: WaitRow; retry: boolean }[];
}

interface EventRow {
  node_id: string;
  attempt: number;
  status: string;
  exit: string | null;
  payload: RunEventPayload | null;
}

/** Restores a run that has history: replays outcomes in order of `seq`, then finds the waits. */
export async function restore(pool: Pool, run: HeldRun): Promise<Restored> {
  const [{ rows }, waits] = await Promise.all([
    pool.query<EventRow>({ name: 'read_events', text: EVENTS, values: [run.id] }),
    readWaits(pool, run.id),
  ]);
  const { graph } = run.version;
  const open = new Set(begin(graph, run.progress));
  const last = new Map<number, EventRow>();
  for (const row of rows) {
    const index = graph.indexOf.get(row.node_id);
    if (index === undefined) continue;
    last.set(index, row);
    run.attempts.set(index, Math.max(run.attempts.get(index) ?? 0, row.attempt));
    if (row.status === 'FAILED') run.failures.set(index, (run.failures.get(index) ?? 0) + 1);
    if (!isSettled(row)) continue;
    replay(run, index, row);
    open.delete(index);
    for (const next of settle(graph, run.progress, index, row.exit)) open.add(next);
  }
  const waiting = waits.flatMap((wait) => {
    const index = graph.indexOf.get(wait.nodeID);
    return index !== undefined && open.delete(index)
      ? [{ index, wait, retry: last.get(index)?.status === 'FAILED' }]
      : [];
  });
  return { ready: [...open], waits: waiting };
}

/** A handled failure left by an exit; a failure that is retried, or that ended the run, did not. */
function isSettled({ status, exit }: EventRow): boolean {
  return status === 'SUCCESS' || status === 'SKIPPED' || (status === 'FAILED' && exit !== null);
}

function replay(run: HeldRun, index: number, row: EventRow): void {
  const node = run.version.graph.nodes[index];
  const output = row.payload?.output;
  if (!node || !isJsonObject(output)) return;
  run.outputBytes += JSON.stringify(output).length;
  const patch = contextPatch(node, node.config, output);
  if (patch) Object.assign(run.scope, patch);
  if (node.definition.ends) recordEnd(run, node.id, output);
}

/** Adds an end node to the result. Outputs of several ends are merged, the latest wins, and the worst status counts. */
export function recordEnd(run: HeldRun, nodeID: string, output: Record<string, unknown>): void {
  const { result } = run;
  if (isJsonObject(output.workflowOutput)) Object.assign(result.output, output.workflowOutput);
  const status = output.status === 'failure' || output.status === 'cancelled' ? output.status : 'success';
  if (!result.reached || severity[status] > severity[result.status]) {
    result.status = status;
    result.nodeID = nodeID;
  }
  result.reached = true;
}

const severity = { success: 0, cancelled: 1, failure: 2 };

const EVENTS = `
select node_id, attempt, status, exit, payload from run_event
where instance_id = $1::uuid and node_id is not null order by seq`;
