import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

/** Those that have a page here. */
const types = ['workflow', 'run', 'dataQuery', 'datasource', 'cronJob', 'listener'] as const;

export type Found = Schemas['SearchResult'] & { type: (typeof types)[number] };

export function searchRead(tenantID: string, q: string) {
  return queryOptions({
    queryKey: ['search', tenantID, q],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { q, types: types.join(',') } };
      const { results } = await body(rest.GET('/api/v1/tenants/{tenantID}/search', { params }));
      return results.filter((one): one is Found => types.some((type) => type === one.type));
    },
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  });
}
