import { limitColumns } from '#shared/accept-runs.ts';
import { plainArray, textArray } from '#shared/db/array.ts';
import { storable, storableJSON } from '#shared/db/storable.ts';
import type { RunEventPayload, RunEventRow, Started } from '#shared/realtime/events.ts';
import { type IterationPath, innermost, pathKey } from '#shared/workflow/frame.ts';
import { limitsOf } from '#shared/workflow/limits.ts';
import type { Frame } from '#shared/workflow/progress.ts';
import { briefOf } from './large-outputs.ts';
import type { Run } from './run.ts';
import { type AwaitedEvent, numbersOf, type PendingEvent, type PendingMap, type Step } from './step.ts';

/** The step of a run on its way into the database. */
export interface Entry {
  run: Run;
  step: Step;
  fromSeq: number;
  toSeq: number;
  /** JSON text of the run's output; null if the run goes on. */
  output: string | null;
  /** Length of the texts that the statement carries for it. */
  size: number;
}

/** Takes the step of a run. Its numbers are given here, so a batch that is sent again changes nothing. */
export function takeEntry(run: Run): Entry {
  const step = run.takeStep();
  const output = step.end && step.end.output !== null ? JSON.stringify(step.end.output) : null;
  const size = (output?.length ?? 0) + sizeOf(step);
  return { run, step, fromSeq: run.seq, toSeq: run.seq + numbersOf(step), output, size };
}

/** Length of the texts that a statement carries for the step. */
function sizeOf({ events, children, requests, maps, checkpoint }: Step): number {
  let size = checkpoint?.length ?? 0;
  for (const { payload, log } of events) size += (payload?.length ?? 0) + (log?.size.bytes ?? 0);
  for (const { input } of children) size += JSON.stringify(input).length;
  for (const { scope, items } of maps) size += JSON.stringify(scope).length + JSON.stringify(items).length;
  for (const { config } of requests) size += JSON.stringify(config).length;
  return size;
}

export function isPlain({ run, step }: Pick<Entry, 'run' | 'step'>): boolean {
  return (
    step.checkpoint === null &&
    !(step.end && run.hasCheckpoint) &&
    step.waits.length === 0 &&
    step.resolved.length === 0 &&
    step.children.length === 0 &&
    step.requests.length === 0 &&
    step.events.every(({ log, source }) => log === undefined && !source?.large) &&
    step.release !== 'park'
  );
}

function statusOf(step: Step): string {
  return step.end?.status ?? (step.release === 'park' ? 'WAITING' : 'RUNNING');
}

/** 0: held on. 1: released. 2: released for another turn. 3: held on, and nothing but the start of nodes: no progress yet. */
function releaseOf(step: Step): number {
  if (step.end || step.release === 'park') return 1;
  if (step.release === 'yield') return 2;
  return step.events.every(({ status }) => status === 'RUNNING') ? 3 : 0;
}

/** $1 to $20 of the statements for many runs. */
export function stepValues(batch: readonly Entry[], leaseID: string): string[] {
  const runs = runKinds.map((): Value[] => []);
  const events = eventKinds.map((): Value[] => []);
  for (const entry of batch) {
    addRow(runs, runValues(entry));
    let seq = entry.fromSeq;
    for (const event of entry.step.events) {
      seq += 1 + event.started.length;
      addRow(events, eventValues(entry.run, event, seq));
    }
  }
  return [leaseID, ...toArrays(runKinds, runs), ...toArrays(eventKinds, events)];
}

/** $1 to $20 of the statement for one event of one run. */
export function oneStepValues(entry: Entry, event: PendingEvent, leaseID: string): Value[] {
  return [leaseID, ...runValues(entry), ...eventValues(entry.run, event, entry.toSeq)];
}

type Value = string | number | null;
/** `plain`: a value that needs no quotes in an array. */
type Kind = 'plain' | 'text';

/** Of the columns in `runValues`. */
const runKinds: readonly Kind[] = ['plain', 'plain', 'plain', 'plain', 'plain', 'plain', 'plain', 'text', 'text'];

function runValues({ run, step, fromSeq, toSeq, output }: Entry): Value[] {
  return [
    run.id,
    run.epoch,
    fromSeq,
    toSeq,
    statusOf(step),
    releaseOf(step),
    run.seen,
    output && storableJSON(output),
    step.end?.error ? storableJSON(JSON.stringify(step.end.error)) : null,
  ];
}

/** Of the columns in `eventValues`. */
const eventKinds: readonly Kind[] = [
  'plain',
  'plain',
  'text',
  'plain',
  'plain',
  'plain',
  'text',
  'text',
  'text',
  'text',
];

function eventValues(run: Run, event: PendingEvent, seq: number): Value[] {
  const path = pathOf(event);
  return [
    run.id,
    seq,
    event.frame?.node.id ?? null,
    innermost(path),
    event.attempt,
    event.status,
    event.exit && storable(event.exit),
    event.payload && storableJSON(event.payload),
    frameText(path),
    startedText(event),
  ];
}

function addRow(columns: readonly Value[][], values: readonly Value[]): void {
  for (let i = 0; i < columns.length; i += 1) columns[i]?.push(values[i] ?? null);
}

function toArrays(kinds: readonly Kind[], columns: readonly Value[][]): string[] {
  // A text column holds texts and null only.
  return columns.map((values, i) =>
    kinds[i] === 'plain' ? plainArray(values) : textArray(values as (string | null)[]),
  );
}

function awaitedValue({ name, key, lookbackMs }: AwaitedEvent) {
  return { name, key, lookback_s: lookbackMs / 1000 };
}

/** $21 to $28: waits, ended waits, children, requests, checkpoints, maps, their chunks, and logs, as JSON because they are few and have many shapes. */
export function waitValues(batch: readonly Entry[]): string[] {
  const waits = batch.flatMap(({ run, step }) =>
    step.waits.map((wait) => ({
      instance_id: run.id,
      ...placeOf(wait.frame),
      kind: wait.kind,
      ref: wait.ref,
      due_ms: wait.dueInMs,
      reminded: wait.reminded,
      ...(wait.awaited && { event: awaitedValue(wait.awaited) }),
    })),
  );
  const resolved = batch.flatMap(({ run, step }) =>
    step.resolved.map((frame) => ({ instance_id: run.id, ...placeOf(frame) })),
  );
  const children = batch.flatMap(({ run, step }) =>
    step.children.map((child) => ({
      parent_id: run.id,
      id: child.id,
      workflow_id: child.workflowID,
      version_id: child.versionID,
      node_id: child.nodeID,
      input: child.input,
      timeout_s: child.timeoutMs / 1000,
      class: child.governance.class,
      head_start: child.governance.priority,
      ...limitColumns(limitsOf(child.governance, child)),
    })),
  );
  const requests = batch.flatMap(({ run, step }) =>
    step.requests.map((request) => ({
      instance_id: run.id,
      id: request.id,
      tenant_id: run.tenantID,
      ...placeOf(request.frame),
      iteration: innermost(request.frame.path),
      frame: request.frame.path.length > 0 ? request.frame.path : null,
      config: request.config,
      expires_ms: request.expiresInMs,
    })),
  );
  const checkpoints = batch.flatMap(({ run, step, toSeq }) =>
    step.checkpoint === null ? [] : [`{"instance_id":"${run.id}","seq":${toSeq},"state":${step.checkpoint}}`],
  );
  const texts = [waits, resolved, children, requests].map((rows) => JSON.stringify(rows));
  const maps = batch.flatMap(({ run, step }) => step.maps.map((map) => mapRow(run, map)));
  const chunks = batch.flatMap(({ run, step }) => step.maps.flatMap((map) => chunkRows(run, map)));
  const others = [maps, chunks, batch.flatMap(logRows)].map((rows) => JSON.stringify(rows));
  return [...texts, `[${checkpoints.join(',')}]`, ...others].map(storableJSON);
}

/** $29: of each event, its payload without a large output; null if it has none. */
export function briefValues(batch: readonly Entry[]): string {
  return textArray(batch.flatMap(({ step }) => step.events.map(briefOf).map((brief) => brief && storableJSON(brief))));
}

export function hasLarge({ step }: Pick<Entry, 'step'>): boolean {
  return step.events.some(({ source }) => source?.large);
}

/** Under the numbers of the rows of their events. */
function logRows({ run, step, fromSeq }: Entry) {
  let seq = fromSeq;
  return step.events.flatMap(({ started, log, frame }) => {
    seq += 1 + started.length;
    if (!log) return [];
    return [
      {
        instance_id: run.id,
        seq,
        node_id: frame?.node.id,
        lines: log.lines,
        cut_lines: log.cut.lines,
        cut_bytes: log.cut.bytes,
      },
    ];
  });
}

function mapRow(run: Run, { id, frame, attempt, plan, scope, items, size, maxResultSize }: PendingMap) {
  return {
    id,
    instance_id: run.id,
    ...placeOf(frame),
    frame: frame.path.length > 0 ? frame.path : null,
    attempt,
    plan,
    scope,
    items: items.length,
    chunks: Math.ceil(items.length / size),
    concurrency: plan.concurrency,
    tolerated: plan.tolerated,
    max_result_size: maxResultSize,
  };
}

function chunkRows(run: Run, { id, items, size }: PendingMap) {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => {
    const own = items.slice(at * size, (at + 1) * size);
    return { instance_id: run.id, map_id: id, n: at + 1, first: at * size, size: own.length, items: own };
  });
}

/** The rows of a committed step, for the gateways. */
export function toRows({ run, step, fromSeq }: Entry, at: Date): RunEventRow[] {
  let seq = fromSeq;
  return step.events.map((event) => {
    seq += 1 + event.started.length;
    return {
      instanceID: run.id,
      seq,
      nodeID: event.frame?.node.id ?? null,
      iteration: innermost(pathOf(event)),
      frame: pathOf(event),
      attempt: event.attempt,
      status: event.status,
      exit: event.exit,
      at,
      payload: shownPayload(event),
      started: startedBy(event),
      log: event.log ?? null,
    };
  });
}

/** Clients are not sent large outputs. */
function shownPayload(event: PendingEvent): RunEventPayload | null {
  const brief = briefOf(event);
  if (brief) return { ...(JSON.parse(brief) as RunEventPayload), outputOmitted: true };
  return event.payload === null ? null : (JSON.parse(event.payload) as RunEventPayload);
}

function startedBy({ frame, started }: PendingEvent): Started[] {
  return started.map(({ node, path }) => (path === frame?.path ? node.id : { nodeID: node.id, frame: path }));
}

function startedText(event: PendingEvent): string | null {
  return event.started.length > 0 ? storableJSON(JSON.stringify(startedBy(event))) : null;
}

function pathOf({ frame }: PendingEvent): IterationPath {
  return frame?.path ?? [];
}

function placeOf({ node, path }: Frame) {
  return { node_id: node.id, path: pathKey(path) };
}

/** Null outside of loops, where nearly all events are. */
function frameText(path: IterationPath): string | null {
  return path.length > 0 ? JSON.stringify(path) : null;
}
