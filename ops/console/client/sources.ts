import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { ListFilter } from '../ui/list-filter.ts';
import { body, rest } from './rest.ts';

const PAGE = 50;

export function datasourcesRead(tenantID: string, filter: ListFilter) {
  return queryOptions({
    queryKey: ['datasources', tenantID, filter],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { ...filter, limit: PAGE } };
      const { datasources, nextCursor } = await body(rest.GET('/api/v1/tenants/{tenantID}/datasources', { params }));
      return { rows: datasources, nextCursor };
    },
    placeholderData: keepPreviousData,
  });
}

export async function testDatasource(path: { tenantID: string; datasourceID: string }): Promise<void> {
  await body(rest.POST('/api/v1/tenants/{tenantID}/datasources/{datasourceID}/test', { params: { path } }));
}
