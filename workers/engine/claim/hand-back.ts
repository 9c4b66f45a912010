import { toAppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { TAKES_RUNS } from '#shared/runs/dispatch/worker-capacity.ts';
import type { Runs } from '#shared/runs/runs.ts';
import type { ClaimRow } from '../state/claimed-row.ts';
import { UnknownKinds } from './versions.ts';

/** A run fails when this many workers in a row could not begin it. */
const MAX_HAND_BACKS = 10;

/** Gives back a claimed run that this worker cannot begin. Never throws: if it fails, the next renewals of the lease give the run back. */
export type HandBack = (row: ClaimRow, error: unknown) => Promise<void>;

interface Dependencies {
  pool: Pool;
  runs: Runs;
  leaseID: () => string;
  logger: Logger;
}

/**
 * A run that could not begin is READY again after 1 s, then 2 s, doubling to 60 s, for any worker. It fails if its version does not
 * exist, or the tenth time. A run with a node of a kind that this worker does not know never fails for that reason. If another live worker knows
 * the kind, the run is READY after a second and nothing is counted: chance decides which worker claims it. Otherwise the pauses double as
 * well, but are counted with negative numbers.
 */
export function createHandBack({ pool, runs, leaseID, logger }: Dependencies): HandBack {
  async function giveBack(row: ClaimRow, error: unknown): Promise<void> {
    const isVersionDeleted = toAppError(error).code === 'NOT_FOUND';
    if (isVersionDeleted) return fail(row, error);
    const kinds = error instanceof UnknownKinds ? error.kinds : null;
    const { rows } = await pool.query<{ hand_backs: number; is_known: boolean }>(GIVE_BACK, [
      row.id,
      row.epoch,
      leaseID(),
      kinds,
    ]);
    const [state] = rows;
    // The run has ended, or another worker owns it by now.
    if (!state) return;
    const { hand_backs: times, is_known: isKnown } = state;
    const about = { err: error, instanceID: row.id, times };
    if (kinds) logger.warn({ ...about, kinds }, isKnown ? 'run left to a worker that knows its nodes' : NO_WORKER);
    else if (times >= MAX_HAND_BACKS) await fail(row, error);
    else logger.warn(about, 'run could not begin here and is given back');
  }

  async function fail(row: ClaimRow, cause: unknown): Promise<void> {
    const { code, message } = toAppError(cause);
    const error = { code, message, nodeID: null, attempt: null };
    logger.error({ err: cause, instanceID: row.id }, 'run cannot begin and fails');
    await runs.end({ tenantID: row.tenant_id, ids: [row.id], status: 'FAILED', error });
    if (row.parent_id) await runs.wake([row.parent_id]);
  }

  return (row, error) =>
    giveBack(row, error).catch((failure) =>
      logger.warn({ err: failure, instanceID: row.id }, 'run not given back; the next renewals of the lease do it'),
    );
}

const NO_WORKER = 'no live worker knows all kinds of nodes of this run; it waits';

const GIVE_BACK = `
with other as (
  select exists (select from worker_session where ${TAKES_RUNS} and kinds @> $4::text[]) as is_known
), pause as (
  select is_known, times, make_interval(secs => case when is_known then 1 else least(60, 2 ^ least(times, 6)) end) as length
  from other, workflow_instance, lateral (select greatest(0, hand_backs * case when $4::text[] is null then 1 else -1 end) as times) of_its_kind
  where id = $1
)
update workflow_instance
set held_by = null, updated_at = now(),
    hand_backs = case when is_known then hand_backs when $4::text[] is null then least(times + 1, 100) else greatest(-times - 1, -100) end,
    ready_at = now() + length, not_before = now() + length
from pause where id = $1 and epoch = $2 and held_by = $3 and completed_at is null
returning hand_backs, is_known`;
