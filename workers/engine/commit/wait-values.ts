import { storableJSON } from '#shared/db/storable.ts';
import { limitColumns } from '#shared/runs/accept.ts';
import { limitsOf } from '#shared/workflow/limits.ts';
import { innermost, pathKey } from '#shared/workflow/progress/activation.ts';
import type { Frame } from '#shared/workflow/progress/progress.ts';
import type { AwaitedEvent, PendingMap } from '../state/pending-commit.ts';
import type { Run } from '../state/run.ts';
import type { Entry } from './values.ts';

/** $21 to $29: waits, ended waits, children, requests, checkpoints, maps, their chunks, logs, and lengths of runs, as JSON because they are few and have many shapes. */
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
  const lengths = batch.flatMap(({ run, step }) =>
    step.release === 'hold' ? [] : [{ instance_id: run.id, length: run.state.heldLength }],
  );
  const others = [maps, chunks, batch.flatMap(logRows), lengths].map((rows) => JSON.stringify(rows));
  return [...texts, `[${checkpoints.join(',')}]`, ...others].map(storableJSON);
}

function awaitedValue({ name, key, lookbackMs }: AwaitedEvent) {
  return { name, key, lookback_s: lookbackMs / 1000 };
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

function placeOf({ node, path }: Frame) {
  return { node_id: node.id, path: pathKey(path) };
}
