import { isJsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Started } from '#shared/messaging/realtime/run-events.ts';
import { type IterationPath, pathKey } from '#shared/workflow/progress/iteration-path.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { Run } from '../state/run.ts';
import type { Wait } from '../state/waits.ts';
import type { ReadWaits, WaitRow } from '../waits/wait-results.ts';
import { createReadPast, type EventRow, type Past } from './past.ts';

export interface Restored {
  /** Activations to start, as a first or a further attempt: ready, and neither settled nor waiting. */
  ready: Activation[];
  waits: { activation: Activation; wait: WaitRow; purpose: Wait['purpose'] }[];
}

/** Restores a run that has history: from its last checkpoint, the events after it in order of `seq`, and the waits. */
export type Restore = (run: Run) => Promise<Restored>;

export function createRestore(pool: Pool, readWaits: ReadWaits): Restore {
  const readPast = createReadPast(pool);

  return async (run) => {
    const [past, waits] = await Promise.all([readPast(run), readWaits(run.id)]);
    const { open, retrying } = replayAll(run, past);
    if (isPaused(run, past)) run.goOn();
    const waiting = waits.flatMap((wait): Restored['waits'] => {
      const activation = run.state.find(wait.nodeID, wait.path);
      if (!activation || !open.delete(activation)) return [];
      const isBetween = run.state.repetitionOf(activation)?.phase === 'between';
      return [{ activation, wait, purpose: retrying.has(activation) ? 'retry' : isBetween ? 'next' : 'park' }];
    });
    return { ready: [...open], waits: waiting };
  };
}

/**
 * Whether the last event says that the run waits. Events without a node are not read. If the run has events after the last one that was read,
 * the last has no node: it is the event of a run that begins to wait.
 */
function isPaused({ seq }: Run, { checkpoint, seq: checkpointSeq, events }: Past): boolean {
  const last = events.at(-1);
  if (!last || last.seq <= checkpointSeq) return checkpointSeq < seq || checkpoint?.isPaused === true;
  const { waits, stillWaits = false, reusedFrom } = last.payload ?? {};
  return last.seq < seq || stillWaits || (waits !== undefined && !reusedFrom);
}

/** Restores the state of a run from its history. Returns the activations that are ready or wait, and those whose last attempt failed. */
export function replayAll(
  run: Run,
  { checkpoint, seq, events }: Past,
): { open: Set<Activation>; retrying: Set<Activation | undefined> } {
  if (checkpoint) run.continueFrom(seq);
  const open = new Set(checkpoint ? run.state.load(checkpoint) : run.state.begin());
  const retrying = new Set((checkpoint?.retrying ?? []).map(([nodeID, path]) => run.state.find(nodeID, path)));
  for (const row of events) {
    if (row.seq <= seq) {
      restoreOutput(run, row.frame ?? [], row);
      continue;
    }
    if (row.frame) beginAgain(run, row.frame, open);
    countLog(run, row);
    const activation = run.state.find(row.node_id, pathKey(row.frame ?? []));
    if (!activation) continue;
    if (row.status === 'FAILED') retrying.add(activation);
    else retrying.delete(activation);
    replay(run, activation, { row, open });
  }
  return { open, retrying };
}

/** Counts the stored log lines of an event. Those of a result that was taken over from another run are stored with that run. */
function countLog({ state }: Run, { node_id: nodeID, payload }: EventRow): void {
  if (payload?.log && !payload.reusedFrom) state.logs.count(nodeID, payload.log);
}

/** Begins the iteration of an event if it has not begun: after a pause between two iterations, no other event says that the next began. */
function beginAgain(run: Run, path: IterationPath, open: Set<Activation>): void {
  const container = run.state.containerOf(path);
  if (!container) return;
  for (const ready of run.state.reach(path)) open.add(ready);
  open.delete(container);
}

/** Restores the output of an event that the checkpoint names. */
function restoreOutput(
  run: Run,
  path: IterationPath,
  { node_id: nodeID, seq, payload, status, attempt }: EventRow,
): void {
  if (payload?.large) return run.state.restoreOffloaded({ nodeID, path }, payload.large, seq);
  if (!isJsonObject(payload?.output)) return;
  if (payload.repeat) run.state.restoreRepetition({ nodeID, path: pathKey(path) }, payload.output, payload.repeat);
  else {
    const source = run.state.restoreOutput({ nodeID, path }, payload.output, seq);
    const { error } = payload;
    if (source && error && status === 'FAILED') run.state.restorePassed({ nodeID, path }, { error, attempt }, source);
  }
}

/** Applies an event to the run. In `open`, the activations that it made ready take the place of the one that it settled. */
function replay(run: Run, activation: Activation, { row, open }: { row: EventRow; open: Set<Activation> }): void {
  const { seq, attempt, status, exit, payload, started } = row;
  const { output, large, error, repeat, failsItem = false } = payload ?? {};
  const next = run.state.replay(activation, { attempt, status, exit, output, large, error, repeat, failsItem, seq });
  if (!next) return;
  open.delete(activation);
  for (const ready of next) {
    open.add(ready);
    if (isNamed(ready, started ?? [])) run.state.countAttempt(ready);
  }
}

/** Whether an event lists the start of an activation. */
function isNamed({ node, path }: Activation, started: readonly Started[]): boolean {
  return started.some((start) =>
    typeof start === 'string' ? start === node.id : start.nodeID === node.id && pathKey(start.frame) === pathKey(path),
  );
}
