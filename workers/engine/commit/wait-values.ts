import { storableJSON } from '#shared/db/storable.ts';
import { limitColumns } from '#shared/runs/accept.ts';
import { limitsOf } from '#shared/workflow/limits.ts';
import { innermost, pathKey } from '#shared/workflow/progress/iteration-path.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { AwaitedEvent, PendingMap } from '../state/pending-commit.ts';
import type { Run } from '../state/run.ts';
import type { Entry } from './values.ts';

/**
 * $21 to $29: waits, ended waits, children, requests, checkpoints, maps, their chunks, logs, and how much memory runs take. As JSON, because they
 * are few and have many shapes.
 */
export function waitValues(batch: readonly Entry[]): string[] {
  const waits = batch.flatMap(({ run, pending }) =>
    pending.waits.map((wait) => ({
      instance_id: run.id,
      ...keyOf(wait.activation),
      kind: wait.kind,
      ref: wait.ref,
      due_ms: wait.dueInMs,
      reminded: wait.reminded,
      ...(wait.awaited && { event: awaitedValue(wait.awaited) }),
    })),
  );
  const resolved = batch.flatMap(({ run, pending }) =>
    pending.resolved.map((activation) => ({ instance_id: run.id, ...keyOf(activation) })),
  );
  const children = batch.flatMap(({ run, pending }) =>
    pending.children.map((child) => ({
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
  const requests = batch.flatMap(({ run, pending }) =>
    pending.requests.map((request) => ({
      instance_id: run.id,
      id: request.id,
      tenant_id: run.tenantID,
      ...keyOf(request.activation),
      iteration: innermost(request.activation.path),
      frame: request.activation.path.length > 0 ? request.activation.path : null,
      config: request.config,
      expires_ms: request.expiresInMs,
    })),
  );
  const checkpoints = batch.flatMap(({ run, pending, toSeq }) =>
    pending.checkpoint === null ? [] : [`{"instance_id":"${run.id}","seq":${toSeq},"state":${pending.checkpoint}}`],
  );
  const texts = [waits, resolved, children, requests].map((rows) => JSON.stringify(rows));
  const maps = batch.flatMap(({ run, pending }) => pending.maps.map((map) => mapRow(run, map)));
  const chunks = batch.flatMap(({ run, pending }) => pending.maps.flatMap((map) => chunkRows(run, map)));
  const lengths = batch.flatMap(({ run, pending }) =>
    pending.release === 'none' ? [] : [{ instance_id: run.id, length: run.state.residentLength }],
  );
  const furtherTexts = [maps, chunks, batch.flatMap(logRows), lengths].map((rows) => JSON.stringify(rows));
  return [...texts, `[${checkpoints.join(',')}]`, ...furtherTexts].map(storableJSON);
}

function awaitedValue({ name, key, lookbackMs }: AwaitedEvent) {
  return { name, key, lookback_s: lookbackMs / 1000 };
}

/** The logs of attempts, each under the number of the event with its outcome. */
function logRows({ run, pending, fromSeq }: Entry) {
  let seq = fromSeq;
  return pending.events.flatMap(({ started, log, activation }) => {
    seq += 1 + started.length;
    if (!log) return [];
    return [
      {
        instance_id: run.id,
        seq,
        node_id: activation?.node.id,
        lines: log.lines,
        cut_lines: log.cut.lines,
        cut_bytes: log.cut.bytes,
      },
    ];
  });
}

function mapRow(run: Run, { id, activation, attempt, plan, scope, items, size, maxResultSize }: PendingMap) {
  return {
    id,
    instance_id: run.id,
    ...keyOf(activation),
    frame: activation.path.length > 0 ? activation.path : null,
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
    const chunkItems = items.slice(at * size, (at + 1) * size);
    return { instance_id: run.id, map_id: id, n: at + 1, first: at * size, size: chunkItems.length, items: chunkItems };
  });
}

function keyOf({ node, path }: Activation) {
  return { node_id: node.id, path: pathKey(path) };
}
