import type { Logger } from '#shared/core/logger.ts';
import { createPool, type Pool, type PoolClient } from '#shared/db/pool.ts';
import type { TenantServer } from './servers.ts';

/** A connection to a server of tenants that ends connections which use up the server's lock table. */
export interface LockGuard extends AsyncDisposable {
  /**
   * Ends connections of tenants while these hold more than half of the lock table. Returns their number; undefined if another worker
   * guards the server.
   */
  check(): Promise<number | undefined>;
}

/** Advisory lock in the admin database, where no tenant may connect. */
const GUARD = 7_265_019;
/** Locks that the guard holds until it needs their space. */
const RESERVED_LOCKS = 200;

/**
 * One statement of a tenant can take all locks of a server. Every other statement there then fails with "out of shared memory", a
 * sign-in and `pg_terminate_backend` too, and a statement that catches its cancel would stay for ever. PostgreSQL has no limit for it.
 * So the guard is signed in beforehand and reserves some locks, which it releases for the moment in which it ends the others.
 */
export function createLockGuard({ url, admin }: Pick<TenantServer, 'url' | 'admin'>, logger: Logger): LockGuard {
  const pool = createPool({ url, poolSize: 1 }, logger, {
    name: 'gantry.locks',
    settings: '-c statement_timeout=60000',
  });
  let guard: PoolClient | undefined;

  /** Makes this process the guard of the server. Undefined if another worker is its guard. */
  async function acquire(): Promise<PoolClient | undefined> {
    if (await isGuarded(admin)) return undefined;
    const client = await pool.connect();
    try {
      const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1, 0) as mine', [GUARD]);
      if (rows[0]?.mine) {
        await client.query(`${RESERVE_LOCKS};${END_HOLDERS}`);
        return client;
      }
    } catch (error) {
      client.release(true);
      throw error;
    }
    client.release(true);
    return undefined;
  }

  return {
    async check() {
      guard ??= await acquire();
      if (!guard) return undefined;
      try {
        // One message has all statements, so that a tenant has no time to take the released locks.
        const results: unknown = await guard.query(`${RELEASE};${END_HOLDERS};${RESERVE_LOCKS}`);
        return countOf(results);
      } catch (error) {
        // Locks that could not be reserved again are reserved by the next check; a lost connection is replaced.
        await guard.query(RESERVE_LOCKS).catch(() => {
          guard?.release(true);
          guard = undefined;
        });
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      guard?.release(true);
      guard = undefined;
      await pool.end();
    },
  };
}

async function isGuarded(admin: Pool): Promise<boolean> {
  const { rowCount } = await admin.query(
    `select from pg_lock_status() where locktype = 'advisory' and classid = $1 and objid = 0 and granted`,
    [GUARD],
  );
  return (rowCount ?? 0) > 0;
}

/** The driver gives one result for each statement of a message, which its types do not say. */
function countOf(results: unknown): number {
  const [, ended] = results as { rowCount: number | null }[];
  return ended?.rowCount ?? 0;
}

const RESERVE_LOCKS = `
select count(pg_try_advisory_lock(${GUARD}, n)) from generate_series(1, ${RESERVED_LOCKS}) n
where not exists (select from pg_lock_status() where pid = pg_backend_pid() and locktype = 'advisory' and objid = ${RESERVED_LOCKS})`;

const RELEASE = `select count(pg_advisory_unlock(${GUARD}, n)) from generate_series(1, ${RESERVED_LOCKS}) n`;

// Uses functions, because reading a view needs locks. Ends the connections with the most locks, until the remaining ones have at most
// half of the lock table. The pattern matches the names that Gantry gives to roles of tenants.
const END_HOLDERS = `
with held as (
  select pid, count(*) as locks from pg_lock_status() where not fastpath group by pid
), ranked as (
  select pid, locks, sum(locks) over (order by locks, pid) as with_smaller from held
)
select pg_terminate_backend(pid) from ranked join pg_stat_get_activity(null) using (pid)
where locks > 100 and pg_get_userbyid(usesysid) ~ '^tenant_[0-9a-f]{24}(_full)?$'
  and with_smaller > current_setting('max_locks_per_transaction')::int * current_setting('max_connections')::int / 2`;
