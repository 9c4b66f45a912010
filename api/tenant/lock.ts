import type { Query } from '#shared/db/query.ts';

/** Locks the tenant until the transaction ends, so that no other transaction changes the settings that this one reads. */
export async function lockTenant(query: Query, tenantID: string): Promise<void> {
  await query('select id from tenant where id = $1 for no key update', [tenantID]);
}
