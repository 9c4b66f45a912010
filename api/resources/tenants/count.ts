import { z } from 'zod';
import type { Query } from '#shared/db/query.ts';

/** Counts a tenant's assets by type. */
export const AssetCounts = z.object({
  tenantUserCount: z.int(),
  tenantRolesCount: z.int(),
  tenantAPIKeyCount: z.int(),
  tenantWorkflowCount: z.int(),
  tenantDatasourceCount: z.int(),
  tenantDataQueryCount: z.int(),
  tenantWidgetCount: z.int(),
});

const tables: Record<keyof z.infer<typeof AssetCounts>, string> = {
  tenantUserCount: 'membership',
  tenantRolesCount: 'role',
  tenantAPIKeyCount: 'api_key',
  tenantWorkflowCount: 'workflow',
  tenantDatasourceCount: 'datasource',
  tenantDataQueryCount: 'data_query',
  tenantWidgetCount: 'widget',
};

export async function countAssets(query: Query, tenantID: string): Promise<z.infer<typeof AssetCounts>> {
  const { rows } = await query<z.infer<typeof AssetCounts>>(COUNT, [tenantID]);
  return AssetCounts.parse(rows[0]);
}

const COUNT = `
select ${Object.entries(tables)
  .map(([name, table]) => `(select count(*)::int from ${table} where tenant_id = t.id) as "${name}"`)
  .join(', ')}
from tenant t where t.id = $1`;
