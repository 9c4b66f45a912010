import { FIRST_ID } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';

interface RoundRobin<T extends { tenantID: string }> {
  pool: Pool;
  /** Reads the next tenant after `$1` that has something to do, in the order of their ids. */
  next: { name: string; text: string };
  /** Does a part of the tenant's work. Returns whether there was anything to do. */
  work(tenant: T): Promise<boolean>;
}

/**
 * Makes a function that works for one tenant at each call, in the order of their ids and round again. It returns whether there may be
 * more to do at once, which is not so after a round that has found nothing. A tenant whose work fails is served again in the next round.
 */
export function roundRobinTenants<T extends { tenantID: string }>({
  pool,
  next,
  work,
}: RoundRobin<T>): () => Promise<boolean> {
  let after = FIRST_ID;
  let isIdle = true;

  return async () => {
    const { rows } = await pool.query<T>({ ...next, values: [after] });
    const [tenant] = rows;
    if (!tenant) {
      const isMore = !isIdle;
      after = FIRST_ID;
      isIdle = true;
      return isMore;
    }
    after = tenant.tenantID;
    if (await work(tenant)) isIdle = false;
    return true;
  };
}
