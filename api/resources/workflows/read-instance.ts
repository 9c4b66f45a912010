import type { z } from 'zod';
import { RunEvent } from '#shared/db/entities/run-event.ts';
import type { WorkflowInstance } from '#shared/db/entities/workflow-instance.ts';
import type { EntityManager } from '#shared/db/orm.ts';
import type { RunEventPayload } from '#shared/realtime/events.ts';
import type { NodeStatus } from '#shared/workflow/status.ts';
import { tenantRoute } from '../../http/route.ts';
import { findRun } from './find-run.ts';
import { findTitles } from './find-titles.ts';
import { presentInstanceSummary } from './present.ts';
import { Instance, InstanceID, InstanceQuery } from './schemas.ts';
import { findWaiting } from './waiting.ts';

export const readInstance = tenantRoute({
  method: 'get',
  path: '/workflows/instances/:instanceID',
  summary: 'A run: its outcome, or why it waits, and what its nodes did',
  permission: 'workflow.read',
  filter: true,
  params: InstanceID,
  query: InstanceQuery,
  response: Instance,

  async handle({ params, query, em, require }, { pool }) {
    const run = await findRun({ em, require, permission: 'workflow.read' }, params.instanceID);
    const titles = await findTitles(em, [run]);
    const { timeline, nextSeq } = await findTimeline(em, run, query);
    const latest = await findLatest(em, run);
    return {
      ...presentInstanceSummary(run, titles.get(run.workflowID ?? '') ?? null),
      seq: run.seq,
      input: run.input,
      output: run.output ?? null,
      error: run.error ?? null,
      waiting: await findWaiting({ em, pool }, run, latest),
      timeline,
      nextSeq,
      nodes: latest.map(presentNode),
    };
  },
});

async function findTimeline(em: EntityManager, run: WorkflowInstance, query: z.output<typeof InstanceQuery>) {
  const { afterSeq, timelineLimit: limit } = query;
  const events = await em.find(
    RunEvent,
    { instanceID: run.id, seq: { $gt: afterSeq }, nodeID: { $ne: null } },
    { orderBy: { seq: 'asc' }, limit: limit + 1, disableIdentityMap: true },
  );
  const shown = events.slice(0, limit);
  return { timeline: shown.map(presentEvent), nextSeq: events.length > limit ? (shown.at(-1)?.seq ?? null) : null };
}

function presentEvent(event: RunEvent) {
  const { seq, iteration, attempt, createdAt } = event;
  // Written by the engine, whose payloads these are.
  const payload = event.payload as RunEventPayload | null | undefined;
  return {
    seq,
    nodeID: event.nodeID ?? '',
    iteration,
    attempt,
    status: event.status as NodeStatus,
    exit: event.exit ?? null,
    output: payload?.output ?? null,
    error: payload?.error ?? null,
    at: createdAt.toISOString(),
  };
}

interface Latest {
  nodeID: string;
  iteration: number;
  attempt: number;
  status: NodeStatus;
  exit: string | null;
  seq: number;
  startedAt: Date | null;
  at: Date;
}

/** Each node as its last event left it, in the order in which they began. Outputs are not read for this. */
async function findLatest(em: EntityManager, run: WorkflowInstance): Promise<Latest[]> {
  const events = await em.find(
    RunEvent,
    { instanceID: run.id, nodeID: { $ne: null } },
    { orderBy: { seq: 'asc' }, exclude: ['payload'], disableIdentityMap: true },
  );
  const latest = new Map<string, Latest>();
  for (const { nodeID, iteration, attempt, status, exit, seq, createdAt: at } of events) {
    if (!nodeID) continue;
    const before = latest.get(nodeID);
    const startedAt = before?.iteration === iteration ? before.startedAt : null;
    latest.set(nodeID, {
      nodeID,
      iteration,
      attempt,
      status: status as NodeStatus,
      exit: exit ?? null,
      seq,
      // A node that takes no time has no event for its beginning.
      startedAt: startedAt ?? (status === 'SKIPPED' ? null : at),
      at,
    });
  }
  return [...latest.values()];
}

function presentNode({ nodeID, iteration, attempt, status, exit, startedAt, at }: Latest) {
  const isOver = status !== 'RUNNING' && status !== 'SUSPENDED';
  return {
    nodeID,
    iteration,
    attempt,
    status,
    exit,
    startedAt: startedAt?.toISOString() ?? null,
    completedAt: isOver ? at.toISOString() : null,
  };
}
