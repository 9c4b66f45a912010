import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { ListFilter } from './list-filter.ts';
import { APIError, body, rest } from './rest.ts';
import { currentToken, endSession } from './session.ts';
import type { Schemas } from './types.ts';

const T = '/api/v1/tenants/{tenantID}';
const PAGE = 50;

export function appPagesRead(tenantID: string, filter: ListFilter) {
  return queryOptions({
    queryKey: ['app-pages', tenantID, filter],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { ...filter, limit: PAGE } };
      const { appPages, nextCursor } = await body(rest.GET(`${T}/app-pages`, { params }));
      return { rows: appPages, nextCursor };
    },
    placeholderData: keepPreviousData,
  });
}

/** As many as a menu shows. */
const IN_MENU = 12;

/** The newest pages that are no drafts. */
export function shownPagesRead(tenantID: string) {
  return queryOptions({
    queryKey: ['app-pages', tenantID, 'menu'],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { limit: IN_MENU } };
      const { appPages } = await body(rest.GET(`${T}/app-pages`, { params }));
      return appPages.filter(({ isDraft }) => !isDraft);
    },
    staleTime: 60_000,
  });
}

export function dashboardsRead(tenantID: string, filter: ListFilter) {
  return queryOptions({
    queryKey: ['dashboards', tenantID, filter],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { ...filter, limit: PAGE } };
      const { dashboards, nextCursor } = await body(rest.GET(`${T}/dashboards`, { params }));
      return { rows: dashboards, nextCursor };
    },
    placeholderData: keepPreviousData,
  });
}

export function readAppPageContent(path: { tenantID: string; appPageID: string }) {
  return body(rest.GET(`${T}/app-pages/{appPageID}/content`, { params: { path } }));
}

export function readDashboardContent(path: { tenantID: string; dashboardID: string }) {
  return body(rest.GET(`${T}/dashboards/{dashboardID}/content`, { params: { path } }));
}

export function appPageContentRead(path: { tenantID: string; appPageID: string }) {
  return queryOptions({
    queryKey: ['app-page-content', path],
    queryFn: () => readAppPageContent(path),
    ...asOpened,
  });
}

export function dashboardContentRead(path: { tenantID: string; dashboardID: string }) {
  return queryOptions({
    queryKey: ['dashboard-content', path],
    queryFn: () => readDashboardContent(path),
    ...asOpened,
  });
}

export async function createAppPage(tenantID: string, page: Schemas['AppPageCreate']): Promise<string> {
  return (await body(rest.POST(`${T}/app-pages`, { params: { path: { tenantID } }, body: page }))).appPage.id;
}

/** Another content is another page, whose fields are empty: a page that is looked at stays as it was opened. */
const asOpened = { gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false } as const;

/** A line of the answer to a request for data. */
export interface DataLine {
  queryAlias?: string;
  widgetKey?: string;
  answer?: Schemas['DataQueryAnswer'] & { widgetData?: unknown; bindings?: Schemas['WidgetBindingOutcome'][] };
  error?: { code: string; message: string };
}

/** Reads data of a page, and tells each line as it comes. */
export async function readPageData(
  { tenantID, appPageID }: { tenantID: string; appPageID: string },
  wanted: Schemas['AppPageDataRequest'],
  { signal, onLine }: { signal: AbortSignal; onLine: (line: DataLine) => void },
): Promise<void> {
  const headers = { authorization: `Bearer ${await currentToken()}`, 'content-type': 'application/json' };
  const path = `/api/v1/tenants/${tenantID}/app-pages/${appPageID}/data`;
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(wanted), signal });
  if (!response.ok) {
    const { error } = await response.json().catch(() => ({ error: undefined }));
    const { code = 'UNAVAILABLE', message = `The server answered ${response.status}`, details } = error ?? {};
    if (response.status === 401) endSession(message);
    throw new APIError({ status: response.status, code, message, details });
  }
  const texts = response.body?.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array<ArrayBuffer>, string>);
  const reader = texts?.getReader();
  let open = '';
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    const lines = `${open}${next.value}`.split('\n');
    open = lines.pop() ?? '';
    // Safe: the API writes such lines.
    for (const line of lines) onLine(JSON.parse(line) as DataLine);
  }
}

export async function readWidgetsData(
  tenantID: string,
  wanted: Schemas['WidgetDataBulk'],
  signal: AbortSignal,
): Promise<Schemas['WidgetsData']['widgets']> {
  const params = { path: { tenantID } };
  return (await body(rest.POST(`${T}/widgets/data/bulk`, { params, body: wanted, signal }))).widgets;
}

/** The data of a widget as it is edited. */
export async function readUnsavedWidget(
  tenantID: string,
  { type, config, state }: { type: string; config: object; state: object },
  signal: AbortSignal,
): Promise<Pick<Schemas['WidgetData'], 'widgetData' | 'bindings'>> {
  const params = { path: { tenantID } };
  const given = { widgetType: type, widgetConfig: config, state } as Schemas['WidgetDataRequest'];
  return body(rest.POST(`${T}/widgets/data`, { params, body: given, signal }));
}

/** The bytes of a file of the tenant, which need the caller's token. */
export async function readWidgetFile(tenantID: string, path: string): Promise<Blob> {
  const params = { path: { tenantID }, query: { path } };
  const { data } = await rest.GET(`${T}/widgets/files`, { params, parseAs: 'blob' });
  return data as unknown as Blob;
}

/** Those of a file that a widget of a page names, for who may read the page. */
export async function readPageFile(ids: { tenantID: string; appPageID: string }, path: string): Promise<Blob> {
  const params = { path: ids, query: { path } };
  const { data } = await rest.GET(`${T}/app-pages/{appPageID}/files`, { params, parseAs: 'blob' });
  return data as unknown as Blob;
}

export async function uploadWidgetFile(tenantID: string, file: File) {
  const form = new FormData();
  form.append('file', file);
  const answer = await body(
    rest.POST(`${T}/widgets/upload`, {
      params: { path: { tenantID } },
      body: { file: '' },
      bodySerializer: () => form,
    }),
  );
  const { url, filePath, fileName } = answer;
  return { url, filePath, fileName };
}
