import type { Pool } from '#shared/db/pool.ts';

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

interface Laps<T extends { tenantID: string }> {
  pool: Pool;
  /** Reads the next tenant behind `$1` that has something to do, in the order of their ids. */
  next: { name: string; text: string };
  /** Does a part of it. Answers whether there was anything to do. */
  work(turn: T): Promise<boolean>;
}

/**
 * Gives one tenant after the other its turn, one at each call. Answers whether there may be more to do at once, which is not so after a
 * lap that has found nothing. A tenant whose work fails has had its turn.
 */
export function inLaps<T extends { tenantID: string }>({ pool, next, work }: Laps<T>): () => Promise<boolean> {
  let after = FIRST_ID;
  let isIdle = true;

  return async () => {
    const { rows } = await pool.query<T>({ ...next, values: [after] });
    const [turn] = rows;
    if (!turn) {
      const goesOn = !isIdle;
      after = FIRST_ID;
      isIdle = true;
      return goesOn;
    }
    after = turn.tenantID;
    if (await work(turn)) isIdle = false;
    return true;
  };
}
