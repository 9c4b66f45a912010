import { mapPaths } from '#shared/core/schema/issues.ts';

/** Prefixes the paths of an error's issues with `dataQueryOptions`, except for those about the datasource. */
export function queryError(error: unknown): unknown {
  return mapPaths(error, (path) => (isOfDatasource(path[0]) ? path : ['dataQueryOptions', ...path]));
}

/** Whether an issue is about the datasource: some connectors read its options only when they execute a query. */
function isOfDatasource(root: string | number | undefined): boolean {
  return root === 'datasourceOptions' || root === 'datasourceType';
}
