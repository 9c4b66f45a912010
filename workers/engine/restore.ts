import type { Pool } from '#shared/db/pool.ts';
import { isJsonObject } from '#shared/json.ts';
import type { Started } from '#shared/realtime/events.ts';
import { pathKey } from '#shared/workflow/frame.ts';
import type { Frame } from '#shared/workflow/progress.ts';
import type { ReadWaits, WaitRow } from './facts.ts';
import { createReadPast, type EventRow, type Past } from './past.ts';
import type { Run } from './run.ts';

export interface Restored {
  /** Frames to start, as a first or a further attempt: ready, and neither settled nor waiting. */
  ready: Frame[];
  waits: { frame: Frame; wait: WaitRow; purpose: 'park' | 'retry' }[];
}

/** Restores a run that has history: from its last checkpoint, the events after it in order of `seq`, and the waits. */
export type Restore = (run: Run) => Promise<Restored>;

export function createRestore(pool: Pool, readWaits: ReadWaits): Restore {
  const readPast = createReadPast(pool);

  return async (run) => {
    const [past, waits] = await Promise.all([readPast(run), readWaits(run.id)]);
    const { open, retrying } = replayAll(run, past);
    const waiting = waits.flatMap((wait): Restored['waits'] => {
      const frame = run.state.find(wait.nodeID, wait.path);
      if (!frame || !open.delete(frame)) return [];
      return [{ frame, wait, purpose: retrying.has(frame) ? 'retry' : 'park' }];
    });
    return { ready: [...open], waits: waiting };
  };
}

/** Returns the frames that are ready or wait, and those whose last attempt failed. */
function replayAll(
  run: Run,
  { checkpoint, seq, events }: Past,
): { open: Set<Frame>; retrying: Set<Frame | undefined> } {
  if (checkpoint) run.continueFrom(seq);
  const open = new Set(checkpoint ? run.state.load(checkpoint) : run.state.begin());
  const retrying = new Set((checkpoint?.retrying ?? []).map(([nodeID, path]) => run.state.find(nodeID, path)));
  for (const row of events) {
    const path = pathKey(row.frame ?? []);
    if (row.seq <= seq) {
      keepAgain(run, path, row);
      continue;
    }
    const frame = run.state.find(row.node_id, path);
    if (!frame) continue;
    if (row.status === 'FAILED') retrying.add(frame);
    else retrying.delete(frame);
    replay(run, frame, { row, open });
  }
  return { open, retrying };
}

/** Reads an output that the checkpoint refers to. */
function keepAgain(run: Run, path: string, { node_id: nodeID, seq, payload }: EventRow): void {
  if (isJsonObject(payload?.output)) run.state.keepAgain({ nodeID, path }, payload.output, { seq });
}

function replay(run: Run, frame: Frame, { row, open }: { row: EventRow; open: Set<Frame> }): void {
  const { seq, attempt, status, exit, payload, started } = row;
  const next = run.state.replay(frame, { attempt, status, exit, output: payload?.output, seq });
  if (!next) return;
  open.delete(frame);
  for (const ready of next) {
    open.add(ready);
    if (isNamed(ready, started ?? [])) run.state.countAttempt(ready);
  }
}

function isNamed({ node, path }: Frame, started: readonly Started[]): boolean {
  return started.some((one) =>
    typeof one === 'string' ? one === node.id : one.nodeID === node.id && pathKey(one.frame) === pathKey(path),
  );
}
