import type { Pool } from '#shared/db/pool.ts';

const BATCH = 5_000;

/** Deletes what has expired, a batch at a time. Nothing reads it any more. */
export async function deleteExpired(pool: Pool, auditDays: number): Promise<void> {
  await inBatches(pool, 'sign_in_record', 'expires_at < now()');
  await inBatches(pool, 'sign_in_link', 'expires_at < now()');
  await inBatches(pool, 'sign_in_audit', `created_at < now() - make_interval(secs => ${auditDays * 86_400})`);
}

async function inBatches(pool: Pool, table: string, condition: string): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.query(
      `delete from ${table} where ctid = any(array(select ctid from ${table} where ${condition} limit ${BATCH}))`,
    );
    if ((rowCount ?? 0) < BATCH) return;
  }
}
