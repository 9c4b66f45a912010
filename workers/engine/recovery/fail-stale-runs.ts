import type { Logger } from '#shared/core/logger.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import type { Runs } from '#shared/runs/runs.ts';

const BOOT_LOCK = 7_265_004;

/**
 * Applies the contract's rule for the start of the service: runs that were RUNNING without a sign of life for longer than the
 * window are FAILED. Only the first worker does so, while no lease is valid; with a window of 0 the sweep resumes such runs.
 */
export async function failStaleRuns(pool: Pool, runs: Runs, staleAfterMs: number, logger: Logger): Promise<number> {
  if (staleAfterMs === 0) return 0;
  const stale = await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [BOOT_LOCK]);
    const { rows } = await client.query<{ id: string; parent_id: string | null }>(FIND_STALE, [staleAfterMs / 1000]);
    return rows;
  });
  if (stale.length === 0) return 0;
  const error = {
    code: 'WORKER_LOST',
    message: 'The run was interrupted when the service stopped and showed no sign of life within the stale window',
    nodeID: null,
    attempt: null,
  };
  const ended = await runs.end({ tenantID: null, ids: stale.map(({ id }) => id), status: 'FAILED', error });
  const parents = stale.flatMap(({ parent_id }) => parent_id ?? []);
  if (parents.length > 0) await runs.wake(parents);
  logger.warn({ runs: ended.length }, 'runs without a sign of life were failed at the start of the service');
  return ended.length;
}

// The last sign of life: a commit, the end of the lease that owned the run, or the moment it became ready again. A queued run was
// not interrupted while any worker lived: it only waited, so the end of the last worker counts for it.
const FIND_STALE = `
select i.id, i.parent_id from workflow_instance i
left join worker_session s on s.id = i.held_by
where i.status = 'RUNNING'
  and not exists (select from worker_session live where live.ended_at is null and live.expires_at > now())
  and greatest(i.updated_at, coalesce(s.ended_at, s.expires_at, i.updated_at), coalesce(i.ready_at, i.updated_at),
    case when i.ready_at is null then i.updated_at else (select max(coalesce(ended_at, expires_at)) from worker_session) end) < now() - make_interval(secs => $1)`;
