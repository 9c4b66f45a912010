import type { PoolClient } from '#shared/db/pool.ts';
import { quoteLiteral, quoteName } from '../quote.ts';
import type { TenantServer } from '../servers/servers.ts';
import { reopenDatabase } from './reopen-database.ts';

interface Prepared {
  gid: string;
  owner: string;
  database: string;
}

interface PreparedFilter {
  /** Transactions of these roles, or in this database. */
  roles?: readonly string[];
  database?: string;
  olderThanSeconds?: number;
}

/**
 * Rolls back transactions that tenants have prepared for a commit in two phases and left open. They keep their locks without a
 * connection, keep the server from cleaning up, and keep their database from being dropped. Servers allow none by default
 * (`max_prepared_transactions`). Returns their number.
 */
export async function rollBackPrepared(
  server: TenantServer,
  connection: Pick<PoolClient, 'query'>,
  { roles, database, olderThanSeconds = 0 }: PreparedFilter,
): Promise<number> {
  const { rows } = await connection.query<Prepared>(FIND, [roles ?? [], database ?? null, olderThanSeconds]);
  for (const { gid, owner, database: name } of rows) {
    await reopenDatabase(connection, name);
    await server.on(name, async (client) => {
      // Only the owner of the transaction and superusers may roll it back, and only in its database.
      await client.query(`set role ${quoteName(owner)}`);
      await client.query(`rollback prepared ${quoteLiteral(gid)}`);
    });
  }
  return rows.length;
}

export async function hasPrepared(connection: Pick<PoolClient, 'query'>, database: string): Promise<boolean> {
  const { rows } = await connection.query(FIND, [[], database, 0]);
  return rows.length > 0;
}

const FIND = `
select gid, owner, database from pg_prepared_xacts
where (owner = any($1) or database = $2) and prepared <= now() - make_interval(secs => $3)`;
