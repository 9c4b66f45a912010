import { plainArray, textArray } from '#shared/db/array.ts';
import { storable, storableJSON } from '#shared/db/storable.ts';
import type { RunEventPayload, RunEventRow, Started } from '#shared/realtime/events.ts';
import { type IterationPath, innermost, pathKey } from '#shared/workflow/frame.ts';
import type { Frame } from '#shared/workflow/progress.ts';
import type { Run } from './run.ts';
import { numbersOf, type PendingEvent, type Step } from './step.ts';

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
function sizeOf({ events, children, requests, checkpoint }: Step): number {
  let size = checkpoint?.length ?? 0;
  for (const { payload } of events) size += payload?.length ?? 0;
  for (const { input } of children) size += JSON.stringify(input).length;
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

/** $1 to $20 of both statements. */
export function stepValues(batch: readonly Entry[], leaseID: string): string[] {
  const ids: string[] = [];
  const epochs: number[] = [];
  const from: number[] = [];
  const to: number[] = [];
  const statuses: string[] = [];
  const releases: number[] = [];
  const seen: number[] = [];
  const outputs: (string | null)[] = [];
  const errors: (string | null)[] = [];
  const eventRun: string[] = [];
  const eventSeq: number[] = [];
  const eventNode: (string | null)[] = [];
  const eventIteration: number[] = [];
  const eventAttempt: number[] = [];
  const eventStatus: string[] = [];
  const eventExit: (string | null)[] = [];
  const eventPayload: (string | null)[] = [];
  const eventFrame: (string | null)[] = [];
  const eventStarted: (string | null)[] = [];
  for (const { run, step, fromSeq, toSeq, output } of batch) {
    ids.push(run.id);
    epochs.push(run.epoch);
    from.push(fromSeq);
    to.push(toSeq);
    statuses.push(statusOf(step));
    releases.push(releaseOf(step));
    seen.push(run.seen);
    outputs.push(output && storableJSON(output));
    errors.push(step.end?.error ? storableJSON(JSON.stringify(step.end.error)) : null);
    let seq = fromSeq;
    for (const event of step.events) {
      seq += 1 + event.started.length;
      eventRun.push(run.id);
      eventSeq.push(seq);
      eventNode.push(event.frame?.node.id ?? null);
      eventIteration.push(innermost(pathOf(event)));
      eventFrame.push(frameText(pathOf(event)));
      eventStarted.push(startedText(event));
      eventAttempt.push(event.attempt);
      eventStatus.push(event.status);
      eventExit.push(event.exit && storable(event.exit));
      eventPayload.push(event.payload && storableJSON(event.payload));
    }
  }
  return [
    leaseID,
    plainArray(ids),
    plainArray(epochs),
    plainArray(from),
    plainArray(to),
    plainArray(statuses),
    plainArray(releases),
    plainArray(seen),
    textArray(outputs),
    textArray(errors),
    plainArray(eventRun),
    plainArray(eventSeq),
    textArray(eventNode),
    plainArray(eventIteration),
    plainArray(eventAttempt),
    plainArray(eventStatus),
    textArray(eventExit),
    textArray(eventPayload),
    textArray(eventFrame),
    textArray(eventStarted),
  ];
}

/** $21 to $25: waits, ended waits, children, requests and checkpoints, as JSON because they are few and have many shapes. */
export function waitValues(batch: readonly Entry[]): string[] {
  const waits = batch.flatMap(({ run, step }) =>
    step.waits.map((wait) => ({
      instance_id: run.id,
      ...placeOf(wait.frame),
      kind: wait.kind,
      ref: wait.ref,
      due_ms: wait.dueInMs,
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
    })),
  );
  const requests = batch.flatMap(({ run, step }) =>
    step.requests.map((request) => ({
      instance_id: run.id,
      id: request.id,
      tenant_id: run.tenantID,
      node_id: request.frame.node.id,
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
  return [...texts, `[${checkpoints.join(',')}]`].map(storableJSON);
}

/** The rows of a committed step, for the gateways. */
export function toRows({ run, step, fromSeq }: Entry): RunEventRow[] {
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
      payload: event.payload === null ? null : (JSON.parse(event.payload) as RunEventPayload),
      started: startedBy(event),
    };
  });
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
  return { node_id: node.id, iteration: innermost(path), path: pathKey(path) };
}

/** Null outside of loops, where nearly all events are. */
function frameText(path: IterationPath): string | null {
  return path.length > 0 ? JSON.stringify(path) : null;
}
