import { requireQuota } from '../../access/quotas.ts';
import type { Query } from '../../db/query.ts';

/** Requires headroom for one more file of the tenant, as `requireQuota` does. */
export async function requireFileHeadroom(query: Query, tenantID: string, bytes: Buffer): Promise<void> {
  await requireQuota(query, { quota: 'files', ownerID: tenantID });
  await requireQuota(query, { quota: 'fileBytes', ownerID: tenantID, amount: bytes.length });
}
