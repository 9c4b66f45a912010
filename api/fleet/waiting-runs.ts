import type { z } from 'zod';
import type { Pool } from '#shared/db/pool.ts';
import type { PausedQueues } from '../runs/paused-queues.ts';
import { findWaitReason } from '../runs/wait-reason.ts';
import type { Waiting, WaitReason } from '../runs/wait-schemas.ts';
import { WAITS_SINCE } from './backlog.ts';

const SHOWN = 20;

export interface WaitingRun {
  instanceID: string;
  workflowID: string | null;
  workflowTitle: string | null;
  class: string;
  status: 'PENDING' | 'RUNNING' | 'WAITING';
  since: Date;
  reason: z.input<typeof WaitReason> | undefined;
}

/** The oldest runs of a tenant that no worker has, each with the reason. Runs in a queue come before those that wait at a node. */
export async function readWaitingRuns(
  { pool, pausedQueues }: { pool: Pool; pausedQueues: PausedQueues },
  tenantID: string,
): Promise<WaitingRun[]> {
  const { rows } = await pool.query<Omit<WaitingRun, 'reason'> & Wait>(OLDEST, [tenantID]);
  const found: WaitingRun[] = [];
  for (const { kind, dueAt, ...run } of rows) {
    const reason = await findWaitReason(
      { pool, pausedQueues },
      { id: run.instanceID, tenantID },
      waitOf({ kind, dueAt }),
    );
    found.push({ ...run, reason });
  }
  return found;
}

interface Wait {
  kind: string | null;
  dueAt: Date | null;
}

function waitOf({ kind, dueAt }: Wait): z.input<typeof Waiting> | undefined {
  if (kind === 'input' || kind === 'child' || kind === 'event') return { reason: kind };
  if (kind === 'chunks') return { reason: 'child' };
  return dueAt ? { reason: 'delay', until: dueAt.toISOString() } : undefined;
}

const ofStatus = (status: string) => `
  (select * from workflow_instance
   where tenant_id = $1 and status = '${status}' and status <> 'COMPLETED' and held_by is null and completed_at is null
   order by created_at, id limit ${SHOWN})`;

const OLDEST = `
select i.id as "instanceID", i.workflow_id as "workflowID", w.title as "workflowTitle", i.class, i.status, i.since,
  waits.kind, coalesce(waits.due_at, i.wake_at) as "dueAt"
from (
  select *, ${WAITS_SINCE} as since, ready_at is not null or kept_since is not null as is_queued
  from (${['PENDING', 'RUNNING', 'WAITING'].map(ofStatus).join(' union all ')}) oldest
) i
left join workflow w on w.id = i.workflow_id
left join lateral (
  select kind, due_at from run_wait where instance_id = i.id order by kind <> 'input', kind <> 'event', kind <> 'child' limit 1
) waits on true
order by is_queued desc, since nulls last, i.id limit ${SHOWN}`;
