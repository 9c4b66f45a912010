import { queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';

/** A few runs for a first look, read again with the lists of runs. */
export function newestRunsRead(tenantID: string) {
  return queryOptions({
    queryKey: ['runs', tenantID, 'newest'],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { limit: 8 } };
      return (await body(rest.GET('/api/v1/tenants/{tenantID}/workflows/instances', { params }))).instances;
    },
  });
}
