import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../core/logger.ts';
import type { Pool } from '../db/pool.ts';

/** A restore of the whole deployment that is not resumed. */
export interface RestoreHold {
  /** The moment that the restored data is of. */
  snapshotAt: Date;
  /** `loading`: the restore has not ended, or was interrupted. */
  phase: 'loading' | 'loaded';
}

const POLL_MS = 2_000;

export async function readHold(pool: Pick<Pool, 'query'>): Promise<RestoreHold | undefined> {
  const { rows } = await pool.query<RestoreHold>(
    `select snapshot_at as "snapshotAt", phase from deployment_restore
     where resumed_at is null and restored_tenant_id is null limit 1`,
  );
  return rows[0];
}

/** A sentence for people; undefined if workers may work. */
export async function describeHold(pool: Pick<Pool, 'query'>): Promise<string | undefined> {
  const hold = await readHold(pool);
  if (!hold) return undefined;
  const moment = hold.snapshotAt.toISOString();
  return hold.phase === 'loading'
    ? `a restore of the backup of ${moment} has not ended; run the same "gantry restore" again`
    : `restored from the backup of ${moment}: workers wait for "gantry resume", and nothing acts outside until then`;
}

/** Returns when no restore is held: at once in a deployment that was never restored. */
export async function waitUntilResumed(
  pool: Pick<Pool, 'query'>,
  { logger, onWait, signal }: { logger: Logger; onWait?: (reason: string) => void; signal?: AbortSignal },
): Promise<void> {
  for (let said = false; ; said = true) {
    const reason = await describeHold(pool);
    if (reason === undefined) return;
    onWait?.(reason);
    if (!said) logger.warn(reason);
    await sleep(POLL_MS, undefined, { signal });
  }
}
