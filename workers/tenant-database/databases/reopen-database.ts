import type { PoolClient } from '#shared/db/pool.ts';
import { quoteName } from '../quote.ts';

/** Lets the deployment's role connect to a database whose owner may have closed it. The role may do so as a member of the owner. */
export async function reopenDatabase(connection: Pick<PoolClient, 'query'>, name: string): Promise<void> {
  await connection.query(`alter database ${quoteName(name)} with allow_connections true connection limit -1`);
  await connection.query(`grant connect on database ${quoteName(name)} to current_user`);
}
