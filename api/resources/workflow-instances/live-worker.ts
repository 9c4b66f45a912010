import type { Pool } from '#shared/db/pool.ts';

/** Whether any worker of this deployment is alive. */
export async function hasLiveWorker(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ live: boolean }>(
    'select exists (select from worker_session where ended_at is null and expires_at > now()) as live',
  );
  return rows[0]?.live ?? false;
}
