import type { PostgresClient } from '../postgresql/session.ts';
import { inTenantTransaction } from './session.ts';

/** All in one transaction. With `preview` it is shown, and nothing is done. */
export async function applyDDL(
  client: PostgresClient,
  sql: string[],
  { preview }: { preview: boolean },
): Promise<{ sql: string[]; preview: boolean }> {
  if (!preview && sql.length > 0)
    await inTenantTransaction(client, async () => {
      // A table that is in use for long is left alone rather than kept from everybody else meanwhile.
      await client.query("set local lock_timeout = '10s'");
      for (const statement of sql) await client.query(statement);
    });
  return { sql, preview };
}
