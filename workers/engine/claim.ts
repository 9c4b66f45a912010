import { batched } from '#shared/batched.ts';
import type { Caller } from '#shared/caller.ts';
import type { Pool } from '#shared/db/pool.ts';
import { READY_BY_ID } from '#shared/db/ready.ts';
import type { JsonObject } from '#shared/json.ts';

export interface ClaimedRow {
  id: string;
  tenant_id: string;
  workflow_id: string | null;
  version_id: string;
  epoch: number;
  seq: number;
  wake_seq: number;
  losses: number;
  parent_id: string | null;
  depth: number;
  deadline_at: Date;
  caller: Caller;
  input: JsonObject;
}

export type Claim = (job: { instanceID: string; epoch: number }) => Promise<ClaimedRow | null>;

/** Claims runs for this process, all claims of one turn in one statement. Null: an old job, or another worker was faster. */
export function createClaim(pool: Pool, leaseID: () => string): Claim {
  return batched(async (jobs: { instanceID: string; epoch: number }[]) => {
    const { rows } = await pool.query<ClaimedRow>({
      name: 'claim_runs',
      text: CLAIM,
      values: [leaseID(), jobs.map(({ instanceID }) => instanceID), jobs.map(({ epoch }) => epoch)],
    });
    const byID = new Map(rows.map((row) => [`${row.id}.${row.epoch}`, row]));
    return jobs.map(({ instanceID, epoch }) => byID.get(`${instanceID}.${epoch}`) ?? null);
  });
}

const CLAIM = `
update workflow_instance i
set status = 'RUNNING', held_by = $1::uuid, epoch = i.epoch + 1, ready_at = null, dispatched_at = null, wake_at = null, not_before = null,
    alone = false, started_at = coalesce(started_at, now()), updated_at = now()
from unnest($2::uuid[], $3::int[]) as job(id, epoch)
where i.id = job.id and i.epoch = job.epoch - 1 and ${READY_BY_ID}
returning i.id, i.tenant_id, i.workflow_id, i.version_id, i.epoch, i.seq, i.wake_seq, i.losses, i.parent_id, i.depth, i.deadline_at, i.caller, i.input`;
