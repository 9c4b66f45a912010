import type { Pool } from '#shared/db/pool.ts';

/** The time by the clock of the database, which decides what is due. */
export async function readClock(pool: Pool): Promise<Date> {
  const { rows } = await pool.query<{ now: Date }>('select now() as now');
  return rows[0]?.now ?? new Date();
}
