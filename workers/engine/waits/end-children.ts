import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Runs } from '#shared/runs/runs.ts';

/** Cancels the children of a run that has ended. Never rejects: if it fails, the sweep finds the children. */
export async function endChildren(
  { pool, runs, logger }: { pool: Pool; runs: Runs; logger: Logger },
  parentID: string,
): Promise<void> {
  try {
    const { rows } = await pool.query<{ id: string }>(
      'select id from workflow_instance where parent_id = $1 and completed_at is null',
      [parentID],
    );
    const ids = rows.map(({ id }) => id);
    if (ids.length > 0) await runs.end({ tenantID: null, ids, status: 'CANCELLED', error: null });
  } catch (error) {
    logger.warn({ err: error }, 'children are left to the sweep');
  }
}
