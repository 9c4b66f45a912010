import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { every } from './every.ts';
import { body, rest } from './rest.ts';
import { periods, type RunFilter } from './run-filter.ts';
import { SLOW_MS } from './tenant-room.ts';
import type { Schemas } from './types.ts';

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

/** The open questions of a run that the caller may answer. The number of the last event tells that there may be others. */
export function questionsOfRunRead(tenantID: string, instanceID: string, seq: number) {
  return queryOptions({
    queryKey: ['requests', tenantID, 'run', instanceID, seq],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { status: 'PENDING', instanceID, pageSize: QUESTIONS } } as const;
      return (await body(rest.GET('/api/v1/tenants/{tenantID}/workflows/data-collection', { params }))).requests;
    },
  });
}

export function requestRead(tenantID: string, collectionRequestID: string) {
  return queryOptions({
    queryKey: ['request', tenantID, collectionRequestID],
    queryFn: async () => {
      const path = '/api/v1/tenants/{tenantID}/workflows/data-collection/{collectionRequestID}';
      return (await body(rest.GET(path, { params: { path: { tenantID, collectionRequestID } } }))).request;
    },
  });
}

export function logsRead(ids: { tenantID: string; instanceID: string }, nodeID: string | undefined, seq: number) {
  return infiniteQueryOptions({
    // Read again when the run has gone on.
    queryKey: ['logs', ids, nodeID, seq],
    queryFn: ({ pageParam: cursor }) => {
      const path = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}/logs';
      const query = { ...(nodeID !== undefined && { nodeID }), ...(cursor !== null && { cursor }) };
      return body(rest.GET(path, { params: { path: ids, query } }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  });
}

export function stepInputRead(
  ids: { tenantID: string; instanceID: string; nodeID: string },
  { frame, attempt }: { frame: Schemas['Frame']; attempt: number },
) {
  const iterations = frame.map(({ iteration }) => iteration).join('.');
  return queryOptions({
    queryKey: ['step-input', ids, iterations, attempt],
    queryFn: () => {
      const path = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}/nodes/{nodeID}/input';
      const query = { attempt, ...(iterations && { iterations }) };
      return body(rest.GET(path, { params: { path: ids, query } }));
    },
    staleTime: Number.POSITIVE_INFINITY,
    // It may have megabytes.
    gcTime: 30_000,
  });
}

export function foldersRead(tenantID: string, entityType: Schemas['Folder']['entityType']) {
  return queryOptions({
    queryKey: ['folders', tenantID, entityType],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { entityType, pageSize: 1_000 } };
      return (await body(rest.GET('/api/v1/tenants/{tenantID}/folders', { params }))).folders;
    },
    staleTime: 60_000,
  });
}
