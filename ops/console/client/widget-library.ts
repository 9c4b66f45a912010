import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const T = '/api/v1/tenants/{tenantID}';
const PAGE = 50;

export type LibraryEntry = Schemas['WidgetLibraryEntry'];

/** Widgets that tenants of the deployment have published, newest first. */
export function libraryRead(tenantID: string, search: string) {
  return queryOptions({
    queryKey: ['widget-library', tenantID, search],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { limit: PAGE, ...(search !== '' && { search }) } };
      return (await body(rest.GET(`${T}/widget-library`, { params }))).entries;
    },
    placeholderData: keepPreviousData,
  });
}

/** Queries and workflows that the installation of an entry would lack here. */
export function libraryPreviewRead(path: { tenantID: string; libraryEntryID: string }) {
  return queryOptions({
    queryKey: ['widget-library', path.tenantID, 'preview', path.libraryEntryID],
    queryFn: () => body(rest.POST(`${T}/widget-library/{libraryEntryID}/preview`, { params: { path } })),
  });
}

/** Makes a copy of an entry a widget of the tenant, and answers its id. */
export async function installEntry(path: { tenantID: string; libraryEntryID: string }): Promise<string> {
  const { results } = await body(rest.POST(`${T}/widget-library/{libraryEntryID}/install`, { params: { path } }));
  const [installed] = results;
  if (!installed) throw new Error('The server installed nothing');
  return installed.newID;
}

export async function readWidget(path: { tenantID: string; widgetID: string }): Promise<Schemas['Widget']> {
  return (await body(rest.GET(`${T}/widgets/{widgetID}`, { params: { path } }))).widget;
}
