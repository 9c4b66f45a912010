import { queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';

export interface Titled {
  id: string;
  title: string;
}

interface Page {
  titled: Titled[];
  next?: string | null | undefined;
}

type Path = { tenantID: string };
type Query = { limit: number; cursor?: string };
type Read = (path: Path, query: Query) => Promise<Page>;

const T = '/api/v1/tenants/{tenantID}';

const reads = {
  workflow: async (path, page) => {
    const query = { ...page, fields: 'summary' } as const;
    const { workflows, nextCursor } = await body(rest.GET(`${T}/workflows`, { params: { path, query } }));
    return { titled: workflows.map(({ id, title }) => ({ id, title })), next: nextCursor };
  },
  dataquery: async (path, query) => {
    const { dataQueries, nextCursor } = await body(rest.GET(`${T}/queries`, { params: { path, query } }));
    return { titled: dataQueries.map((row) => ({ id: row.id, title: row.dataQueryTitle })), next: nextCursor };
  },
  datasource: async (path, query) => {
    const { datasources, nextCursor } = await body(rest.GET(`${T}/datasources`, { params: { path, query } }));
    return { titled: datasources.map((row) => ({ id: row.id, title: row.datasourceTitle })), next: nextCursor };
  },
  cronjob: async (path, query) => {
    const { cronJobs, nextCursor } = await body(rest.GET(`${T}/cronjobs`, { params: { path, query } }));
    return { titled: cronJobs.map((row) => ({ id: row.id, title: row.cronJobTitle })), next: nextCursor };
  },
  listener: async (path, query) => {
    const { listeners, nextCursor } = await body(rest.GET(`${T}/listeners`, { params: { path, query } }));
    return { titled: listeners.map((row) => ({ id: row.id, title: row.listenerTitle })), next: nextCursor };
  },
  widget: async (path, query) => {
    const { widgets, nextCursor } = await body(rest.GET(`${T}/widgets`, { params: { path, query } }));
    return { titled: widgets.map((row) => ({ id: row.id, title: row.widgetTitle })), next: nextCursor };
  },
  dashboard: async (path, query) => {
    const { dashboards, nextCursor } = await body(rest.GET(`${T}/dashboards`, { params: { path, query } }));
    return { titled: dashboards.map((row) => ({ id: row.id, title: row.dashboardTitle })), next: nextCursor };
  },
  appPage: async (path, query) => {
    const { appPages, nextCursor } = await body(rest.GET(`${T}/app-pages`, { params: { path, query } }));
    return { titled: appPages.map((row) => ({ id: row.id, title: row.appPageTitle })), next: nextCursor };
  },
  variable: async (path, query) => {
    const { variables, nextCursor } = await body(rest.GET(`${T}/variables`, { params: { path, query } }));
    return { titled: variables.map((row) => ({ id: row.id, title: row.name })), next: nextCursor };
  },
} as const satisfies Record<string, Read>;

/** A type of asset of which single ones are found by title. */
export type TitledType = keyof typeof reads;

export function isTitled(type: string): type is TitledType {
  return Object.hasOwn(reads, type);
}

const PAGE = 100;
/** A tenant has at most 1,000 assets of a type, unless an operator has raised that. */
const MAX_PAGES = 20;

/** The assets of a type by title, as far as the caller may see them. */
export function titlesRead(tenantID: string, type: TitledType) {
  return queryOptions({
    queryKey: ['titles', tenantID, type],
    queryFn: async () => {
      const titled: Titled[] = [];
      let cursor: string | null | undefined;
      for (let page = 0; page < MAX_PAGES && cursor !== null; page += 1) {
        const found: Page = await reads[type]({ tenantID }, { limit: PAGE, ...(cursor && { cursor }) });
        titled.push(...found.titled);
        cursor = found.next ?? null;
      }
      return titled;
    },
    staleTime: 30_000,
  });
}
