import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';

/** A row at the head of a tenant's list, which is its newest part. */
interface Head {
  id: string;
  tenantID: string;
  state: string;
  /** Whether its state can still change. */
  isOpen: boolean;
  /** Milliseconds since the last write of the row. */
  ageMs: number;
}

export interface Heads {
  /** Used in the log, and as the name of the prepared statement. */
  name: string;
  /**
   * SQL that selects the newest rows of the tenants `$1`, and the rows of these tenants with the ids `$2`: a bounded
   * number for each.
   */
  text: string;
  /** Tenants whose changes may be sent to sockets of this process; while there are none, nothing is read. */
  wanted(): Iterable<string>;
  /** The ids of rows of the tenant that have changed or are new. */
  deliver(tenantID: string, ids: readonly string[]): Promise<void>;
}

interface Needs {
  pool: Pool;
  logger: Logger;
}

const EVERY_MS = 1_000;
/** Tenants of one poll; if there are more, they take turns. */
const TENANTS_AT_ONCE = 25;
/** Open rows of a tenant that have left the head and are still followed. */
const MAX_FOLLOWED = 300;

interface Tenant {
  states: Map<string, Head>;
  lookedAt: number;
}

/**
 * Compares the heads of lists with what they were a second ago, in each API process and only for tenants in whose rooms sockets are. Rows
 * with many writes can be followed like this: no index of the time of the last write is needed, which each write would have to change,
 * and no process tells the others.
 */
export function followHeads({ name, text, wanted, deliver }: Heads, { pool, logger }: Needs): Disposable {
  /** The tenant that was looked at longest ago comes first. */
  const tenants = new Map<string, Tenant>();
  let isBusy = false;

  /** Chooses the tenants of this poll, in turns, each with its states in the poll before. */
  function choose(now: number): [string, Tenant][] {
    const present = new Set(wanted());
    for (const tenantID of tenants.keys()) if (!present.has(tenantID)) tenants.delete(tenantID);
    for (const tenantID of present)
      if (!tenants.has(tenantID)) tenants.set(tenantID, { states: new Map(), lookedAt: now - EVERY_MS });
    const chosen = [...tenants].slice(0, TENANTS_AT_ONCE);
    for (const [tenantID, tenant] of chosen) {
      tenants.delete(tenantID);
      tenants.set(tenantID, tenant);
    }
    return chosen;
  }

  async function poll(): Promise<void> {
    const now = performance.now();
    const chosen = choose(now);
    if (chosen.length === 0) return;
    const followed = chosen.flatMap(([, { states }]) => openOf(states).slice(0, MAX_FOLLOWED));
    const values = [chosen.map(([tenantID]) => tenantID), followed];
    const { rows } = await pool.query<Head>({ name, text, values });
    const byTenant = Map.groupBy(rows, ({ tenantID }) => tenantID);
    for (const [tenantID, before] of chosen) {
      const heads = byTenant.get(tenantID) ?? [];
      const changed = changedOf(heads, before, now).map(({ id }) => id);
      if (changed.length > 0) await deliver(tenantID, changed);
      // Noted after the delivery, so that the next poll finds again what could not be delivered.
      tenants.set(tenantID, { states: new Map(heads.map((head) => [head.id, head])), lookedAt: now });
    }
  }

  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    poll()
      .catch((error: unknown) => logger.warn({ err: error, name }, 'heads of lists not read; the next poll will'))
      .finally(() => {
        isBusy = false;
      });
  }, EVERY_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function openOf(states: Tenant['states']): string[] {
  return [...states.values()].flatMap(({ id, isOpen }) => (isOpen ? [id] : []));
}

/** A write becomes visible when its transaction commits, so a row that appears may be a little older than the poll before. */
const LATE_MS = 5_000;

/**
 * Rows with another state, and new ones. A row that was not in the head is new only if it was written since: it may have
 * moved up.
 */
function changedOf(heads: readonly Head[], { states, lookedAt }: Tenant, now: number): Head[] {
  return heads.filter(({ id, state, ageMs }) => {
    const before = states.get(id);
    return before ? before.state !== state : ageMs < now - lookedAt + LATE_MS;
  });
}
