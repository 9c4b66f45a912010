import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { everyPage } from './every-page.ts';
import type { ListFilter } from './list-filter.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const DATASOURCES = '/api/v1/tenants/{tenantID}/datasources';
const DATASOURCE = `${DATASOURCES}/{datasourceID}` as const;
const PAGE = 50;

export interface DatasourceIDs {
  tenantID: string;
  datasourceID: string;
}

export function datasourcesRead(tenantID: string, filter: ListFilter) {
  return queryOptions({
    queryKey: ['datasources', tenantID, filter],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { ...filter, limit: PAGE } };
      const { datasources, nextCursor } = await body(rest.GET(DATASOURCES, { params }));
      return { rows: datasources, nextCursor };
    },
    placeholderData: keepPreviousData,
  });
}

export function datasourceRead(path: DatasourceIDs) {
  return queryOptions({
    queryKey: ['datasources', path.tenantID, 'one', path.datasourceID],
    queryFn: async () => (await body(rest.GET(DATASOURCE, { params: { path } }))).datasource,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

/** Columns that are completed may be older than those of the server. */
const TABLES_MS = 60_000;

type Tables = Record<string, Record<string, { name: string; type: string }[]>>;

/** The columns by table, by schema; those of a table without a schema are under an empty name. */
export function datasourceTablesRead(path: DatasourceIDs) {
  return queryOptions({
    queryKey: ['datasources', path.tenantID, 'tables', path.datasourceID],
    queryFn: async () => {
      const { tables } = await body(rest.GET(`${DATASOURCE}/tables`, { params: { path } }));
      const bySchema: Tables = {};
      for (const { path: steps, columns } of tables) {
        const schema = steps.slice(0, -1).join('.');
        bySchema[schema] = { ...bySchema[schema], [steps.at(-1) ?? '']: columns };
      }
      return bySchema;
    },
    staleTime: TABLES_MS,
    retry: false,
  });
}

/** The form of each type. */
export function datasourceFormsRead(tenantID: string) {
  return queryOptions({
    queryKey: ['datasource-forms', tenantID],
    queryFn: async () => (await body(rest.GET(`${DATASOURCES}/schemas`, { params: { path: { tenantID } } }))).schemas,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Assets that would stop working without the datasource. */
export function datasourceUsageRead(path: DatasourceIDs) {
  return queryOptions({
    queryKey: ['datasources', path.tenantID, 'usage', path.datasourceID],
    queryFn: () => body(rest.GET(`${DATASOURCE}/usage`, { params: { path } })),
  });
}

export async function createDatasource(tenantID: string, made: Schemas['DatasourceCreate']): Promise<string> {
  const params = { path: { tenantID } };
  return (await body(rest.POST(DATASOURCES, { params, body: made }))).datasource.datasourceID;
}

/** Secrets that are sent back masked stay as they are. */
export async function saveDatasource(
  path: DatasourceIDs,
  change: Schemas['DatasourceUpdate'],
): Promise<Schemas['Datasource']> {
  return (await body(rest.PATCH(DATASOURCE, { params: { path }, body: change }))).datasource;
}

export async function cloneDatasource(path: DatasourceIDs): Promise<string> {
  return (await body(rest.POST(`${DATASOURCE}/clone`, { params: { path } }))).datasource.datasourceID;
}

export async function deleteDatasource(path: DatasourceIDs): Promise<void> {
  await body(rest.DELETE(DATASOURCE, { params: { path } }));
}

export async function testDatasource(path: DatasourceIDs): Promise<void> {
  await body(rest.POST(`${DATASOURCE}/test`, { params: { path } }));
}

/** Tests options that are not saved. */
export async function testOptions(tenantID: string, given: Schemas['DatasourceTest']): Promise<void> {
  await body(rest.POST(`${DATASOURCES}/test`, { params: { path: { tenantID } }, body: given }));
}

export type DatasourceFile = Schemas['DatasourceFile'];

/** Files that datasources read, the newest first. */
export function filesRead(tenantID: string) {
  return queryOptions({
    queryKey: ['datasource-files', tenantID],
    queryFn: () => readFiles(tenantID),
  });
}

export function readFiles(tenantID: string): Promise<DatasourceFile[]> {
  return everyPage(async (query) => {
    const params = { path: { tenantID }, query };
    const { files: rows, nextCursor } = await body(rest.GET(`${DATASOURCES}/files`, { params }));
    return { rows, nextCursor };
  });
}

export async function uploadFile(tenantID: string, file: File): Promise<DatasourceFile> {
  const form = new FormData();
  form.append('file', file);
  const params = { path: { tenantID } };
  return body(rest.POST(`${DATASOURCES}/upload`, { params, body: { file: '' }, bodySerializer: () => form }));
}

/** Refused while datasources use it. */
export async function deleteFile(path: { tenantID: string; fileID: string }): Promise<void> {
  await body(rest.DELETE(`${DATASOURCES}/files/{fileID}`, { params: { path } }));
}
