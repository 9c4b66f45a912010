import type { Query } from '#shared/db/query.ts';

/** Holds the tenant until the transaction ends: what is read of its settings now is what the transaction changes. */
export async function lockTenant(query: Query, tenantID: string): Promise<void> {
  await query('select id from tenant where id = $1 for no key update', [tenantID]);
}
