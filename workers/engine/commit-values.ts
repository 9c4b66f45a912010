import { plainArray, textArray } from '#shared/db/array.ts';
import { storable, storableJSON } from '#shared/db/storable.ts';
import type { RunEventPayload, RunEventRow } from '#shared/realtime/events.ts';
import type { Run } from './run.ts';
import type { Step } from './step.ts';

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
  return { run, step, fromSeq: run.seq, toSeq: run.seq + step.events.length, output, size };
}

/** Length of the texts that a statement carries for the step. */
function sizeOf({ events, children, requests }: Step): number {
  let size = 0;
  for (const { payload } of events) size += payload?.length ?? 0;
  for (const { input } of children) size += JSON.stringify(input).length;
  for (const { config } of requests) size += JSON.stringify(config).length;
  return size;
}

export function isPlain(step: Step): boolean {
  return (
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

/** $1 to $18 of both statements. */
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
      seq += 1;
      eventRun.push(run.id);
      eventSeq.push(seq);
      eventNode.push(event.nodeID);
      eventIteration.push(event.iteration);
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
  ];
}

/** $19 to $22: waits, ended waits, children and requests, as JSON because they are few and have many shapes. */
export function waitValues(batch: readonly Entry[]): string[] {
  const waits = batch.flatMap(({ run, step }) =>
    step.waits.map((wait) => ({
      instance_id: run.id,
      node_id: wait.nodeID,
      iteration: wait.iteration,
      kind: wait.kind,
      ref: wait.ref,
      due_ms: wait.dueInMs,
    })),
  );
  const resolved = batch.flatMap(({ run, step }) =>
    step.resolved.map((nodeID) => ({ instance_id: run.id, node_id: nodeID })),
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
      node_id: request.nodeID,
      iteration: request.iteration,
      config: request.config,
      expires_ms: request.expiresInMs,
    })),
  );
  return [waits, resolved, children, requests].map((rows) => storableJSON(JSON.stringify(rows)));
}

/** The events of a committed step, for the gateways. */
export function toRows({ run, step, fromSeq }: Entry): RunEventRow[] {
  return step.events.map((event, index) => ({
    instanceID: run.id,
    seq: fromSeq + index + 1,
    nodeID: event.nodeID,
    iteration: event.iteration,
    attempt: event.attempt,
    status: event.status,
    payload: event.payload === null ? null : (JSON.parse(event.payload) as RunEventPayload),
  }));
}
