import type { Pool } from '#shared/db/pool.ts';
import type { RunEventPayload, Started } from '#shared/realtime/events.ts';
import { type IterationPath, pathKey } from '#shared/workflow/frame.ts';
import type { Frame } from '#shared/workflow/progress.ts';
import type { ReadWaits, WaitRow } from './facts.ts';
import type { Run } from './run.ts';

export interface Restored {
  /** Frames to start, as a first or a further attempt: ready, and neither settled nor waiting. */
  ready: Frame[];
  waits: { frame: Frame; wait: WaitRow; purpose: 'park' | 'retry' }[];
}

interface EventRow {
  node_id: string;
  frame: IterationPath | null;
  attempt: number;
  status: string;
  exit: string | null;
  payload: RunEventPayload | null;
  started: Started[] | null;
}

/** Restores a run that has history: replays outcomes in order of `seq`, then finds the waits. */
export async function restore(pool: Pool, readWaits: ReadWaits, run: Run): Promise<Restored> {
  const [{ rows }, waits] = await Promise.all([
    pool.query<EventRow>({ name: 'read_events', text: EVENTS, values: [run.id] }),
    readWaits(run.id),
  ]);
  const open = new Set(run.state.begin());
  const last = new Map<Frame, string>();
  for (const { node_id, frame: path, attempt, status, exit, payload, started } of rows) {
    const frame = run.state.find(node_id, pathKey(path ?? []));
    if (!frame) continue;
    last.set(frame, status);
    const next = run.state.replay(frame, { attempt, status, exit, output: payload?.output });
    if (!next) continue;
    open.delete(frame);
    for (const ready of next) open.add(ready);
    for (const ready of next) if (isNamed(ready, started ?? [])) run.state.countAttempt(ready);
  }
  const waiting = waits.flatMap((wait): Restored['waits'] => {
    const frame = run.state.find(wait.nodeID, wait.path);
    if (!frame || !open.delete(frame)) return [];
    return [{ frame, wait, purpose: last.get(frame) === 'FAILED' ? 'retry' : 'park' }];
  });
  return { ready: [...open], waits: waiting };
}

const EVENTS = `
select node_id, frame, attempt, status, exit, payload, started from run_event
where instance_id = $1::uuid and node_id is not null order by seq`;

function isNamed({ node, path }: Frame, started: readonly Started[]): boolean {
  return started.some((one) =>
    typeof one === 'string' ? one === node.id : one.nodeID === node.id && pathKey(one.frame) === pathKey(path),
  );
}
