import { mapPaths } from '#shared/core/schema/issues.ts';

/** An error about the query, whose issues have paths inside `dataQueryOptions`, with whole paths. */
export function queryError(error: unknown): unknown {
  return mapPaths(error, (path) => (isOfDatasource(path[0]) ? path : ['dataQueryOptions', ...path]));
}

/** Some connectors read their options only when they execute. */
function isOfDatasource(root: string | number | undefined): boolean {
  return root === 'datasourceOptions' || root === 'datasourceType';
}
