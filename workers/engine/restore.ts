import type { Pool } from '#shared/db/pool.ts';
import { isJsonObject } from '#shared/json.ts';
import type { RunEventPayload, Started } from '#shared/realtime/events.ts';
import { type IterationPath, pathKey } from '#shared/workflow/frame.ts';
import type { Frame } from '#shared/workflow/progress.ts';
import type { ReadWaits, WaitRow } from './facts.ts';
import type { Run } from './run.ts';
import type { Checkpoint } from './run-state.ts';

export interface Restored {
  /** Frames to start, as a first or a further attempt: ready, and neither settled nor waiting. */
  ready: Frame[];
  waits: { frame: Frame; wait: WaitRow; purpose: 'park' | 'retry' }[];
}

interface EventRow {
  seq: number;
  node_id: string;
  frame: IterationPath | null;
  attempt: number;
  status: string;
  exit: string | null;
  payload: RunEventPayload | null;
  started: Started[] | null;
}

/** Restores a run that has history: from its last checkpoint, the events after it in order of `seq`, and the waits. */
export async function restore(pool: Pool, readWaits: ReadWaits, run: Run): Promise<Restored> {
  const [past, waits] = await Promise.all([readPast(pool, run), readWaits(run.id)]);
  const { checkpoint } = past;
  const open = new Set(checkpoint ? run.state.load(checkpoint) : run.state.begin());
  const retrying = new Set((checkpoint?.retrying ?? []).map(([nodeID, path]) => run.state.find(nodeID, path)));
  for (const row of past.rows) {
    const frame = run.state.find(row.node_id, pathKey(row.frame ?? []));
    if (!frame) continue;
    if (row.seq <= past.seq) keepAgain(run, frame, row);
    else {
      if (row.status === 'FAILED') retrying.add(frame);
      else retrying.delete(frame);
      replay(run, frame, { row, open });
    }
  }
  const waiting = waits.flatMap((wait): Restored['waits'] => {
    const frame = run.state.find(wait.nodeID, wait.path);
    if (!frame || !open.delete(frame)) return [];
    return [{ frame, wait, purpose: retrying.has(frame) ? 'retry' : 'park' }];
  });
  return { ready: [...open], waits: waiting };
}

/** Reads an output that the checkpoint refers to. */
function keepAgain(run: Run, frame: Frame, { seq, payload }: EventRow): void {
  if (isJsonObject(payload?.output)) run.state.keep(frame, frame.node.config, payload.output).seq = seq;
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

interface Past {
  /** Null if no checkpoint has a version that this engine knows. */
  checkpoint: Checkpoint | null;
  seq: number;
  /** Events after the checkpoint, and before it those whose outputs it refers to. */
  rows: EventRow[];
}

async function readPast(pool: Pool, run: Run): Promise<Past> {
  const { rows: found } = await pool.query<{ seq: number; state: Checkpoint }>({
    name: 'read_checkpoint',
    text: 'select seq, state from run_checkpoint where instance_id = $1::uuid',
    values: [run.id],
  });
  const [{ seq, state: checkpoint } = { seq: 0, state: null }] = found.filter(({ state }) => state.version === 1);
  if (checkpoint) run.continueFrom(seq);
  const values = [run.id, seq, checkpoint?.outputs ?? []];
  const { rows } = await pool.query<EventRow>({ name: 'read_events', text: EVENTS, values });
  return { checkpoint, seq, rows };
}

const EVENTS = `
select seq, node_id, frame, attempt, status, exit, payload, started from run_event
where instance_id = $1::uuid and seq > $2 and node_id is not null
union all
select seq, node_id, frame, attempt, status, exit, payload, started from run_event
where instance_id = $1::uuid and seq = any($3::bigint[])
order by seq`;

function isNamed({ node, path }: Frame, started: readonly Started[]): boolean {
  return started.some((one) =>
    typeof one === 'string' ? one === node.id : one.nodeID === node.id && pathKey(one.frame) === pathKey(path),
  );
}
