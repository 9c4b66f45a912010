import { jsonOf } from '#shared/concurrency/write-json.ts';
import { jsonArray, plainArray, textArray } from '#shared/db/array.ts';
import { storable, storableJSON } from '#shared/db/storable.ts';
import type { Started } from '#shared/messaging/realtime/run-events.ts';
import { type IterationPath, innermost } from '#shared/workflow/progress/iteration-path.ts';
import { briefOf } from '../state/large-outputs.ts';
import { numbersOf, type PendingCommit, type PendingEvent } from '../state/pending-commit.ts';
import type { Run } from '../state/run.ts';

/** The pending commit of a run on its way into the database. */
export interface Entry {
  run: Run;
  pending: PendingCommit;
  fromSeq: number;
  toSeq: number;
  /** JSON text of the run's output; null if the run goes on. */
  output: string | null;
  /** Length of the texts that the statement carries for this commit. */
  size: number;
}

/** Takes the pending commit of a run. The numbers of its events are assigned here, so a batch that is sent again changes nothing. */
export function takeEntry(run: Run): Entry {
  const pending = run.takePending();
  const output = pending.end && pending.end.output !== null ? jsonOf(pending.end.output) : null;
  const size = (output?.length ?? 0) + sizeOf(pending);
  return { run, pending, fromSeq: run.seq, toSeq: run.seq + numbersOf(pending), output, size };
}

/** Length of the texts that a statement carries for the commit. */
function sizeOf({ events, children, requests, maps, checkpoint }: PendingCommit): number {
  let size = checkpoint?.length ?? 0;
  for (const { payload, log } of events) size += (payload?.length ?? 0) + (log?.size.bytes ?? 0);
  for (const { input } of children) size += JSON.stringify(input).length;
  for (const { scope, items } of maps) size += JSON.stringify(scope).length + JSON.stringify(items).length;
  for (const { config } of requests) size += JSON.stringify(config).length;
  return size;
}

/** Whether a commit has nothing but events, and a terminal status or none: a statement without waits can write it. */
export function isPlain({ run, pending }: Pick<Entry, 'run' | 'pending'>): boolean {
  return (
    pending.checkpoint === null &&
    !(pending.end && run.hasCheckpoint) &&
    pending.waits.length === 0 &&
    pending.resolved.length === 0 &&
    pending.children.length === 0 &&
    pending.requests.length === 0 &&
    pending.events.every(({ log, source }) => log === undefined && !source?.large) &&
    (pending.end !== null || pending.release === 'none')
  );
}

function statusOf(pending: PendingCommit): string {
  return pending.end?.status ?? (pending.release === 'park' ? 'WAITING' : 'RUNNING');
}

/** A code for the statement. 0: the run stays owned. 1: it is released. 2: released and READY. 3: it stays owned, and has made no progress. */
function releaseOf(pending: PendingCommit): number {
  if (pending.end || pending.release === 'park') return 1;
  if (pending.release === 'yield') return 2;
  return pending.events.every(({ status }) => status === 'RUNNING') ? 3 : 0;
}

/** $1 to $20 of the statements for many runs. */
export function batchValues(batch: readonly Entry[], leaseID: string): Parameter[] {
  const runs = runKinds.map((): Value[] => []);
  const events = eventKinds.map((): Value[] => []);
  for (const entry of batch) {
    addRow(runs, runValues(entry));
    let seq = entry.fromSeq;
    for (const event of entry.pending.events) {
      seq += 1 + event.started.length;
      addRow(events, eventValues(entry.run, event, seq));
    }
  }
  return [leaseID, ...toArrays(runKinds, runs), ...toArrays(eventKinds, events)];
}

/** Whether this process goes on with the run after the commit. */
export function staysOwned({ pending }: Pick<Entry, 'pending'>): boolean {
  return pending.end === null && pending.release === 'none';
}

/** $1 to $16 of the statement for one event of one run that goes on here. */
export function singleValues(entry: Entry, event: PendingEvent, leaseID: string): Value[] {
  const { run, pending, fromSeq, toSeq } = entry;
  return [leaseID, run.id, run.epoch, fromSeq, toSeq, releaseOf(pending), ...eventValues(run, event, toSeq)];
}

type Value = string | number | null;
type Parameter = string | Buffer;
/** `plain`: a value that needs no quotes in an array. `json`: one that may be long. */
type Kind = 'plain' | 'text' | 'json';

/** Kinds of the columns in `runValues`. */
const runKinds: readonly Kind[] = ['plain', 'plain', 'plain', 'plain', 'plain', 'plain', 'plain', 'json', 'text'];

function runValues({ run, pending, fromSeq, toSeq, output }: Entry): Value[] {
  return [
    run.id,
    run.epoch,
    fromSeq,
    toSeq,
    statusOf(pending),
    releaseOf(pending),
    run.observedWakeSeq,
    output && storableJSON(output),
    pending.end?.error ? storableJSON(JSON.stringify(pending.end.error)) : null,
  ];
}

/** Kinds of the columns in `eventValues`. */
const eventKinds: readonly Kind[] = [
  'plain',
  'plain',
  'text',
  'plain',
  'plain',
  'plain',
  'text',
  'json',
  'text',
  'text',
];

function eventValues(run: Run, event: PendingEvent, seq: number): Value[] {
  const path = pathOf(event);
  return [
    run.id,
    seq,
    event.activation?.node.id ?? null,
    innermost(path),
    event.attempt,
    event.status,
    event.exit && storable(event.exit),
    event.payload && storableJSON(event.payload),
    pathText(path),
    startedText(event),
  ];
}

function addRow(columns: readonly Value[][], values: readonly Value[]): void {
  for (let i = 0; i < columns.length; i += 1) columns[i]?.push(values[i] ?? null);
}

function toArrays(kinds: readonly Kind[], columns: readonly Value[][]): Parameter[] {
  return columns.map((values, i) => {
    if (kinds[i] === 'plain') return plainArray(values);
    // Safe: such columns hold texts and null only.
    const texts = values as (string | null)[];
    return kinds[i] === 'json' ? jsonArray(texts) : textArray(texts);
  });
}

/** $30: for each event, its payload with a description in place of a large output; null if it has no large output. */
export function briefValues(batch: readonly Entry[]): string {
  return textArray(
    batch.flatMap(({ pending }) => pending.events.map(briefOf).map((brief) => brief && storableJSON(brief))),
  );
}

export function hasLarge({ pending }: Pick<Entry, 'pending'>): boolean {
  return pending.events.some(({ source }) => source?.large);
}

export function startedBy({ activation, started }: PendingEvent): Started[] {
  return started.map(({ node, path }) => (path === activation?.path ? node.id : { nodeID: node.id, frame: path }));
}

function startedText(event: PendingEvent): string | null {
  return event.started.length > 0 ? storableJSON(JSON.stringify(startedBy(event))) : null;
}

export function pathOf({ activation }: PendingEvent): IterationPath {
  return activation?.path ?? [];
}

/** JSON text of the path of an event; null outside of bodies, where nearly all events are. */
function pathText(path: IterationPath): string | null {
  return path.length > 0 ? JSON.stringify(path) : null;
}
