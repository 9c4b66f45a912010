import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const FOLDERS = '/api/v1/tenants/{tenantID}/folders';
const FOLDER = `${FOLDERS}/{folderID}` as const;

export type Folder = Schemas['Folder'];
export type Foldered = Folder['entityType'];

export function foldersRead(tenantID: string, entityType: Foldered) {
  return queryOptions({
    queryKey: ['folders', tenantID, entityType],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { entityType, pageSize: 1_000 } };
      return (await body(rest.GET(FOLDERS, { params }))).folders;
    },
    staleTime: 60_000,
  });
}

export async function createFolder(tenantID: string, made: Schemas['FolderCreate']): Promise<string> {
  return (await body(rest.POST(FOLDERS, { params: { path: { tenantID } }, body: made }))).folder.id;
}

export async function changeFolder(
  path: { tenantID: string; folderID: string },
  change: Schemas['FolderUpdate'],
): Promise<void> {
  await body(rest.PATCH(FOLDER, { params: { path }, body: change }));
}

/** Keeps what is in it. */
export async function deleteFolder(path: { tenantID: string; folderID: string }): Promise<void> {
  await body(rest.DELETE(FOLDER, { params: { path } }));
}

/** All of them or none; without a folder, out of every folder. */
export async function moveToFolder(tenantID: string, move: Schemas['FolderMove']): Promise<void> {
  await body(rest.POST(`${FOLDERS}/move`, { params: { path: { tenantID } }, body: move }));
}

/** Folders, and the lists of what they hold. */
export function refreshFolders(queries: QueryClient, tenantID: string): Promise<unknown> {
  const lists = new Set([
    'folders',
    'workflows',
    'data-queries',
    'cron-jobs',
    'listeners',
    'datasources',
    'app-pages',
    'dashboards',
  ]);
  return queries.invalidateQueries({
    predicate: ({ queryKey: [name, tenant] }) => lists.has(String(name)) && tenant === tenantID,
  });
}
