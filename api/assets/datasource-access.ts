import { splitPermission } from '#shared/access/policy/permissions.ts';
import type { DatasourceDefinition } from '#shared/datasources/types/define-datasource.ts';
import { findDatasourceType } from '#shared/datasources/types/index.ts';
import type { Access } from '../http/route/input.ts';

/**
 * Extra permission for datasource types that need no credentials, such as the tenant's own database. For other types the
 * credentials show that their owner may use them.
 */
export function typeAccess(datasourceType: string | undefined): Access[] {
  const definition: DatasourceDefinition | undefined = datasourceType ? findDatasourceType(datasourceType) : undefined;
  const permission = definition?.standsAlone?.permission;
  if (!permission) return [];
  const [resource] = splitPermission(permission);
  return [{ permission, object: `${resource}:*` }];
}
