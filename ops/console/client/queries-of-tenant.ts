import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { ListFilter } from './list-filter.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const QUERY = '/api/v1/tenants/{tenantID}/queries/{dataQueryID}';
const PAGE = 50;

export interface QueryIDs {
  tenantID: string;
  dataQueryID: string;
}

export function dataQueriesRead(tenantID: string, filter: ListFilter) {
  return queryOptions({
    queryKey: ['data-queries', tenantID, filter],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { ...filter, limit: PAGE } };
      const { dataQueries, nextCursor } = await body(rest.GET('/api/v1/tenants/{tenantID}/queries', { params }));
      return { rows: dataQueries, nextCursor };
    },
    placeholderData: keepPreviousData,
  });
}

export function dataQueryRead(path: QueryIDs) {
  return queryOptions({
    queryKey: ['data-query', path],
    queryFn: async () => (await body(rest.GET(QUERY, { params: { path } }))).dataQuery,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

/** The options of a query, read seldom: for what only looks at its text. */
export function dataQueryTextRead({ tenantID, dataQueryID }: QueryIDs) {
  return queryOptions({
    queryKey: ['data-queries', tenantID, 'text', dataQueryID],
    queryFn: async () => {
      const { dataQuery } = await body(rest.GET(QUERY, { params: { path: { tenantID, dataQueryID } } }));
      return dataQuery.dataQueryOptions as Readonly<Record<string, unknown>>;
    },
    staleTime: 10_000,
  });
}

export function queryFormsRead(tenantID: string) {
  return queryOptions({
    queryKey: ['query-forms', tenantID],
    queryFn: async () => {
      const params = { path: { tenantID } };
      return (await body(rest.GET('/api/v1/tenants/{tenantID}/queries/schemas', { params }))).schemas;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export async function saveDataQuery(path: QueryIDs, change: Schemas['DataQueryUpdate']): Promise<void> {
  await body(rest.PATCH(QUERY, { params: { path }, body: change }));
}

export async function createDataQuery(tenantID: string, query: Schemas['DataQueryCreate']): Promise<string> {
  const params = { path: { tenantID } };
  return (await body(rest.POST('/api/v1/tenants/{tenantID}/queries', { params, body: query }))).dataQuery.dataQueryID;
}

export async function cloneDataQuery(path: QueryIDs): Promise<string> {
  return (await body(rest.POST(`${QUERY}/clone`, { params: { path } }))).dataQuery.dataQueryID;
}

export async function deleteDataQuery(path: QueryIDs): Promise<void> {
  await body(rest.DELETE(QUERY, { params: { path } }));
}

/** Newest first. */
export function queryRunsRead(path: QueryIDs, cursor: string | undefined) {
  return queryOptions({
    queryKey: ['data-query-runs', path, cursor ?? ''],
    queryFn: () =>
      body(rest.GET(`${QUERY}/runs`, { params: { path, query: { limit: PAGE, ...(cursor && { cursor }) } } })),
    placeholderData: keepPreviousData,
  });
}

export type QueryAnswer = Schemas['DataQueryAnswer'];

export async function runDataQuery(path: QueryIDs, args: object, signal?: AbortSignal): Promise<QueryAnswer> {
  const run = { args } as Schemas['DataQueryRun'];
  return (await body(
    rest.POST(`${QUERY}/run`, { params: { path }, body: run, ...(signal && { signal }) }),
  )) as QueryAnswer;
}

/** How the server would execute the saved query; nothing is executed. */
export async function explainDataQuery(path: QueryIDs, args: object): Promise<QueryAnswer> {
  const params = { path, query: { explain: 'true' as const } };
  return (await body(
    rest.POST(`${QUERY}/queryTest`, { params, body: { args } as Schemas['DataQueryInputs'] }),
  )) as QueryAnswer;
}

/** The query of a test: its options, and what it asks. */
export type DraftQuery = Schemas['DataQueryTest']['dataQuery'];

/** Runs a query that is not saved as it stands, or tells how the server would execute it. */
export async function runDraftQuery(
  tenantID: string,
  { dataQuery, args, explains }: { dataQuery: DraftQuery; args: object; explains: boolean },
): Promise<QueryAnswer> {
  const params = { path: { tenantID }, query: explains ? { explain: 'true' as const } : {} };
  const given = { dataQuery, args } as Schemas['DataQueryTest'];
  return (await body(
    rest.PATCH('/api/v1/tenants/{tenantID}/queries/queryTest', { params, body: given }),
  )) as QueryAnswer;
}
