import { queryOptions } from '@tanstack/react-query';
import { every } from './every.ts';
import { body, rest } from './rest.ts';
import { SLOW_MS } from './tenant-room.ts';
import type { Schemas } from './types.ts';

export type Overview = Schemas['Overview'];

export function overviewRead(tenantID: string) {
  return queryOptions({
    queryKey: ['overview', tenantID],
    queryFn: () => body(rest.GET('/api/v1/tenants/{tenantID}/overview', { params: { path: { tenantID } } })),
    refetchInterval: every(SLOW_MS),
  });
}

/** Counts of the runs that were accepted in the last hours, by what became of them. */
export function runHistoryRead(tenantID: string, hours: number) {
  return queryOptions({
    queryKey: ['run-history', tenantID, hours],
    queryFn: () => {
      const params = { path: { tenantID }, query: { hours } };
      return body(rest.GET('/api/v1/tenants/{tenantID}/overview/runs', { params }));
    },
    refetchInterval: every(2 * SLOW_MS),
  });
}

/** Whether the tenant has no workflow yet. */
export function isNewRead(tenantID: string) {
  return queryOptions({
    queryKey: ['workflows', tenantID, 'any'],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { fields: 'summary', limit: 1 } } as const;
      return (await body(rest.GET('/api/v1/tenants/{tenantID}/workflows', { params }))).workflows.length === 0;
    },
  });
}
