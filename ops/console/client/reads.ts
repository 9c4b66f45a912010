import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { every } from './every.ts';
import { body, rest } from './rest.ts';
import { periods, type RunFilter } from './run-filter.ts';
import { SLOW_MS } from './tenant-room.ts';

const PAGE = 25;

export const tenantsRead = queryOptions({
  queryKey: ['tenants'],
  queryFn: async () => (await body(rest.GET('/api/v1/tenants', { params: { query: { limit: 100 } } }))).tenants,
  staleTime: 60_000,
});

export const meRead = queryOptions({
  queryKey: ['me'],
  queryFn: async () => (await body(rest.GET('/api/v1/auth'))).user,
  staleTime: Number.POSITIVE_INFINITY,
});

/** The filter as the API takes it: a period ends now. */
export function runQuery({ since, cursor: _, ...filter }: RunFilter) {
  return { ...filter, ...(since && { from: new Date(Date.now() - periods[since]).toISOString() }) };
}

export function runsRead(tenantID: string, filter: RunFilter) {
  const { cursor } = filter;
  return queryOptions({
    queryKey: ['runs', tenantID, filter],
    queryFn: () => {
      const query = { ...runQuery(filter), ...(cursor && { cursor }), limit: PAGE };
      return body(
        rest.GET('/api/v1/tenants/{tenantID}/workflows/instances', { params: { path: { tenantID }, query } }),
      );
    },
    placeholderData: keepPreviousData,
  });
}

export function workflowsRead(tenantID: string) {
  return queryOptions({
    queryKey: ['workflows', tenantID],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { fields: 'summary', pageSize: 1_000 } } as const;
      return (await body(rest.GET('/api/v1/tenants/{tenantID}/workflows', { params }))).workflows;
    },
    staleTime: 30_000,
  });
}

export function versionRead(ids: { tenantID: string; workflowID: string; versionID: string }) {
  return queryOptions({
    queryKey: ['version', ids],
    queryFn: async () => {
      const path = '/api/v1/tenants/{tenantID}/workflows/{workflowID}/versions/{versionID}';
      return (await body(rest.GET(path, { params: { path: ids } }))).version;
    },
    // A version never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Questions on a page. */
export const QUESTIONS = 50;

export function requestsRead(tenantID: string, page = 1) {
  return queryOptions({
    queryKey: ['requests', tenantID, page],
    queryFn: () => {
      const params = { path: { tenantID }, query: { status: 'PENDING', page, pageSize: QUESTIONS } } as const;
      return body(rest.GET('/api/v1/tenants/{tenantID}/workflows/data-collection', { params }));
    },
    refetchInterval: every(SLOW_MS),
  });
}
