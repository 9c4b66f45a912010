import type { DatasourceDefinition } from '#shared/datasources/define-datasource.ts';
import { findDatasourceType } from '#shared/datasources/index.ts';
import { splitPermission } from '#shared/policy/permissions.ts';
import type { Access } from './route.ts';

/**
 * What naming a type of datasource asks for beside everything else. Others want credentials, which only somebody has who may use
 * them; where the type is the whole address there are none, and the permission stands in their place.
 */
export function typeAccess(datasourceType: string | undefined): Access[] {
  const definition: DatasourceDefinition | undefined = datasourceType ? findDatasourceType(datasourceType) : undefined;
  const permission = definition?.standsAlone?.permission;
  if (!permission) return [];
  const [resource] = splitPermission(permission);
  return [{ permission, object: `${resource}:*` }];
}
