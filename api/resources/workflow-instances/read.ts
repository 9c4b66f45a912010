import type { z } from 'zod';
import type { Pool } from '#shared/db/pool.ts';
import type { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { nodeEvents } from '#shared/runs/node-event-rows.ts';
import type { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import type { NodeStatus, RunStatus } from '#shared/workflow/progress/status.ts';
import { tenantRoute } from '../../context/routes.ts';
import { findReadableRun, VALUES } from '../../runs/find-run.ts';
import { InstanceID } from '../../runs/run-schemas.ts';
import { findWaitReason } from '../../runs/wait-reason.ts';
import { findFailureHandling } from './failure-handling.ts';
import { findNames } from './find-names.ts';
import { findMaps } from './maps/find-maps.ts';
import { presentInstanceSummary } from './present.ts';
import { readValues } from './run-values.ts';
import { Instance, InstanceQuery } from './schemas.ts';
import { findTrigger } from './start-of-run.ts';
import { readTimeline, type TimelineRow } from './timeline.ts';
import { findWaiting } from './waiting.ts';

export const readInstance = tenantRoute({
  name: 'getWorkflowInstance',
  method: 'get',
  path: '/workflows/instances/:instanceID',
  summary: 'Get a run',
  description:
    'Returns the status and the result of a run, the reason why it waits, and what its nodes did. A caller who may execute the workflow may read the runs they started.',
  permission: 'workflow.read',
  filter: true,
  alternative: 'workflow.execute',
  params: InstanceID,
  query: InstanceQuery,
  response: Instance,

  async handle({ params, query, em, require, caller }, { pool, runs: { pausedQueues } }) {
    const run = await findReadableRun({ em, require, caller }, params.instanceID, { without: VALUES });
    const { input, output } = await readValues(pool, run.id, { withInput: query.input });
    const names = await findNames(em, pool, [run]);
    const { timeline, nextSeq } = await findTimeline(pool, run, query);
    const latest = await findLatest(pool, run.id);
    const waiting = await findWaiting({ em, pool }, run, latest);
    const isWaiting = !run.completedAt && !run.heldBy;
    return {
      ...presentInstanceSummary(run, names),
      trigger: await findTrigger(pool, run),
      seq: run.seq,
      testMode: presentTestMode(run.testMode),
      ...(input && { input }),
      output: output ?? null,
      error: run.error ?? null,
      onFailure: run.status === 'FAILED' ? await findFailureHandling(pool, run.id) : undefined,
      waiting,
      waitReason: isWaiting ? await findWaitReason({ pool, pausedQueues }, run, waiting) : undefined,
      timeline,
      nextSeq,
      nodes: latest.map(presentNode),
      maps: await findMaps(pool, run.id),
    };
  },
});

/** Large outputs are left out unless requested, since nodes pass the same value on. */
async function findTimeline(
  pool: Pool,
  run: Pick<WorkflowInstance, 'id' | 'tenantID'>,
  { afterSeq, timelineLimit: maxEvents, outputs }: z.output<typeof InstanceQuery>,
) {
  const wanted = { afterSeq, maxEvents, withLargeOutputs: outputs === 'full' };
  const { events, nextSeq } = await readTimeline(pool, run.id, wanted);
  const children = await findChildren(pool, run.tenantID, events);
  return { timeline: events.map((event) => presentEvent(event, children)), nextSeq };
}

async function findChildren(pool: Pool, tenantID: string, events: readonly TimelineRow[]) {
  const ids = events.flatMap(({ payload }) => payload?.childInstanceID ?? []);
  if (ids.length === 0) return new Map<string, Child>();
  const { rows } = await pool.query<Child>(CHILDREN, [ids, tenantID]);
  return new Map(rows.map((child) => [child.instanceID, child]));
}

interface Child {
  instanceID: string;
  status: RunStatus;
  workflowID: string | null;
  workflowTitle: string | null;
}

const CHILDREN = `
select i.id as "instanceID", i.status, i.workflow_id as "workflowID", w.title as "workflowTitle"
from workflow_instance i left join workflow w on w.id = i.workflow_id where i.id = any($1::uuid[]) and i.tenant_id = $2`;

function presentEvent(
  { payload, isOmitted, at, frame, started: _, ...event }: TimelineRow,
  children: ReadonlyMap<string, Child>,
) {
  const child = children.get(payload?.childInstanceID ?? '');
  return {
    ...event,
    frame: frame ?? [],
    output: payload?.output ?? null,
    ...(isOmitted && payload && { outputOmitted: true }),
    ...(payload?.large && { outputLength: payload.large.length, outputPreview: payload.large.preview }),
    error: payload?.error ?? null,
    ...(payload?.reusedFrom && { reusedFrom: payload.reusedFrom }),
    ...(payload?.isPinned && { isPinned: true }),
    ...(payload?.refusedWrite !== undefined && { refusedWrite: payload.refusedWrite }),
    ...(payload?.mapID && { mapID: payload.mapID }),
    ...(payload?.progress && { progress: payload.progress }),
    ...(child && { child }),
    ...(payload?.reminder && { reminder: payload.reminder }),
    at: at.toISOString(),
  };
}

function presentTestMode(mode: WorkflowInstance['testMode']) {
  if (!mode) return undefined;
  const { dryRun = false, stopAfter = null, pinned = {} } = mode;
  return { dryRun, stopAfter, pinned: Object.keys(pinned) };
}

interface Latest {
  nodeID: string;
  iteration: number;
  frame: IterationPath;
  attempt: number;
  status: NodeStatus;
  exit: string | null;
  seq: number;
  startedAt: Date | null;
  at: Date;
}

/**
 * State of each node by its last event, in the order of their starts, without outputs. Postgres chooses them, because a loop may have
 * a hundred thousand events.
 */
async function findLatest(pool: Pool, instanceID: string): Promise<Latest[]> {
  const { rows } = await pool.query<Omit<Latest, 'frame'> & { frame: IterationPath | null }>(LATEST, [instanceID]);
  return rows.map(({ frame, ...latest }) => ({ ...latest, frame: frame ?? [] }));
}

// A node that ends at once has no RUNNING event, so it has no start.
const LATEST = `
select "nodeID", iteration, frame, attempt, status, exit, seq, "startedAt", at
from (
  select distinct on (node_id) node_id as "nodeID", iteration, frame, attempt, status, exit, seq, at,
         min(at) filter (where status <> 'SKIPPED') over (partition by node_id, frame) as "startedAt",
         min(seq) over (partition by node_id) as first
  from (${nodeEvents('e.instance_id = $1')}) each
  order by node_id, seq desc
) latest
order by first`;

function presentNode({ nodeID, iteration, frame, attempt, status, exit, startedAt, at }: Latest) {
  const isOver = status !== 'RUNNING' && status !== 'SUSPENDED';
  return {
    nodeID,
    iteration,
    frame,
    attempt,
    status,
    exit,
    startedAt: startedAt?.toISOString() ?? null,
    completedAt: isOver ? at.toISOString() : null,
  };
}
