import type { Pool } from '#shared/db/pool.ts';
import type { RunEventPayload } from '#shared/realtime/events.ts';
import type { GraphNode } from '#shared/workflow/graph.ts';
import { readWaits, type WaitRow } from './facts.ts';
import type { Run } from './run.ts';

export interface Restored {
  /** Nodes to start, as a first or a further attempt: ready, and neither settled nor waiting. */
  ready: GraphNode[];
  waits: { node: GraphNode; wait: WaitRow; purpose: 'park' | 'retry' }[];
}

interface EventRow {
  node_id: string;
  attempt: number;
  status: string;
  exit: string | null;
  payload: RunEventPayload | null;
}

/** Restores a run that has history: replays outcomes in order of `seq`, then finds the waits. */
export async function restore(pool: Pool, run: Run): Promise<Restored> {
  const [{ rows }, waits] = await Promise.all([
    pool.query<EventRow>({ name: 'read_events', text: EVENTS, values: [run.id] }),
    readWaits(pool, run.id),
  ]);
  const open = new Set(run.state.begin());
  const last = new Map<GraphNode, string>();
  for (const { node_id, attempt, status, exit, payload } of rows) {
    const node = run.nodeOf(node_id);
    if (!node) continue;
    last.set(node, status);
    const next = run.state.replay(node, { attempt, status, exit, output: payload?.output });
    if (!next) continue;
    open.delete(node);
    for (const ready of next) open.add(ready);
  }
  const waiting = waits.flatMap((wait): Restored['waits'] => {
    const node = run.nodeOf(wait.nodeID);
    if (!node || !open.delete(node)) return [];
    return [{ node, wait, purpose: last.get(node) === 'FAILED' ? 'retry' : 'park' }];
  });
  return { ready: [...open], waits: waiting };
}

const EVENTS = `
select node_id, attempt, status, exit, payload from run_event
where instance_id = $1::uuid and node_id is not null order by seq`;
