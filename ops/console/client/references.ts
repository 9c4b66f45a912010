import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { everyPage } from './every-page.ts';
import type { Permission } from './may.ts';
import { OWN, OWN_TITLE } from './own-database.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

/** Something that an id names. */
export interface Named {
  id: string;
  title: string;
  /** Tells it from others of the same title, such as the type of a datasource. */
  detail?: string;
  /** The declared inputs of a workflow or a query. */
  inputs?: unknown;
}

interface Kind {
  noun: string;
  /** The permission to list them. */
  list: Permission;
  create?: Permission;
  /** The beginning of the keys of what is read of them, which changes of them refresh. */
  key(tenantID: string): readonly string[];
}

interface Source extends Kind {
  /** As many as a list shows. */
  search(tenantID: string, search: string): Promise<Named[]>;
  /** Rejects with 404 if there is none. */
  find(tenantID: string, id: string): Promise<Named>;
}

interface Reads<Listed, Found> extends Kind {
  rows(params: ReturnType<typeof listOf>): Promise<Listed[]>;
  row(tenantID: string, id: string): Promise<Found>;
  named(row: Listed | Found): Named;
}

const T = '/api/v1/tenants/{tenantID}';
/** Rows of a list of choices. */
export const SHOWN = 50;

function listOf(tenantID: string, search: string) {
  return { path: { tenantID }, query: { limit: SHOWN, ...(search !== '' && { search }) } };
}

/** A type whose list the API searches. */
function searched<Listed, Found>({ rows, row, named, ...kind }: Reads<Listed, Found>): Source {
  return {
    ...kind,
    search: async (tenantID, search) => (await rows(listOf(tenantID, search))).map(named),
    find: async (tenantID, id) => ({ ...named(await row(tenantID, id)), id }),
  };
}

const sources = {
  workflow: searched({
    noun: 'workflow',
    list: 'workflow.list',
    create: 'workflow.create',
    key: (tenantID) => ['workflows', tenantID],
    async rows({ path, query }) {
      const params = { path, query: { ...query, fields: 'summary' as const } };
      return (await body(rest.GET(`${T}/workflows`, { params }))).workflows;
    },
    async row(tenantID, workflowID) {
      const params = { path: { tenantID, workflowID } };
      const { workflow } = await body(rest.GET(`${T}/workflows/{workflowID}`, { params }));
      const versionID = workflow.publishedVersionID;
      if (versionID === null || versionID === workflow.versionID) return workflow;
      // The published version is run, whose inputs may be others than those of a later draft.
      const published = { params: { path: { tenantID, workflowID, versionID } } };
      const { version } = await body(rest.GET(`${T}/workflows/{workflowID}/versions/{versionID}`, published));
      return { ...workflow, workflowOptions: version.workflowOptions };
    },
    named: namedWorkflow,
  }),
  dataQuery: searched({
    noun: 'query',
    list: 'dataquery.list',
    create: 'dataquery.create',
    key: (tenantID) => ['data-queries', tenantID],
    rows: async (params) => (await body(rest.GET(`${T}/queries`, { params }))).dataQueries,
    async row(tenantID, dataQueryID) {
      const params = { path: { tenantID, dataQueryID } };
      return (await body(rest.GET(`${T}/queries/{dataQueryID}`, { params }))).dataQuery;
    },
    named: namedQuery,
  }),
  datasource: searched({
    noun: 'datasource',
    list: 'datasource.list',
    create: 'datasource.create',
    key: (tenantID) => ['datasources', tenantID],
    rows: async (params) => (await body(rest.GET(`${T}/datasources`, { params }))).datasources,
    async row(tenantID, datasourceID) {
      const params = { path: { tenantID, datasourceID } };
      return (await body(rest.GET(`${T}/datasources/{datasourceID}`, { params }))).datasource;
    },
    named: namedSource,
  }),
  listener: searched({
    noun: 'listener',
    list: 'listener.list',
    create: 'listener.create',
    key: (tenantID) => ['listeners', tenantID],
    rows: async (params) => (await body(rest.GET(`${T}/listeners`, { params }))).listeners,
    async row(tenantID, listenerID) {
      const params = { path: { tenantID, listenerID } };
      return (await body(rest.GET(`${T}/listeners/{listenerID}`, { params }))).listener;
    },
    named: ({ id, listenerTitle: title }) => ({ id, title }),
  }),
  cronJob: searched({
    noun: 'cron job',
    list: 'cronjob.list',
    create: 'cronjob.create',
    key: (tenantID) => ['cron-jobs', tenantID],
    rows: async (params) => (await body(rest.GET(`${T}/cronjobs`, { params }))).cronJobs,
    async row(tenantID, cronJobID) {
      const params = { path: { tenantID, cronJobID } };
      return (await body(rest.GET(`${T}/cronjobs/{cronJobID}`, { params }))).cronJob;
    },
    named: ({ id, cronJobTitle: title }) => ({ id, title }),
  }),
  widget: searched({
    noun: 'widget',
    list: 'widget.list',
    key: (tenantID) => ['widgets', tenantID],
    rows: async (params) => (await body(rest.GET(`${T}/widgets`, { params }))).widgets,
    async row(tenantID, widgetID) {
      const params = { path: { tenantID, widgetID } };
      return (await body(rest.GET(`${T}/widgets/{widgetID}`, { params }))).widget;
    },
    named: ({ id, widgetTitle: title }) => ({ id, title }),
  }),
  dashboard: searched({
    noun: 'dashboard',
    list: 'dashboard.list',
    key: (tenantID) => ['dashboards', tenantID],
    rows: async (params) => (await body(rest.GET(`${T}/dashboards`, { params }))).dashboards,
    async row(tenantID, dashboardID) {
      const params = { path: { tenantID, dashboardID } };
      return (await body(rest.GET(`${T}/dashboards/{dashboardID}`, { params }))).dashboard;
    },
    named: ({ id, dashboardTitle: title }) => ({ id, title }),
  }),
  appPage: searched({
    noun: 'page',
    list: 'appPage.list',
    key: (tenantID) => ['app-pages', tenantID],
    rows: async (params) => (await body(rest.GET(`${T}/app-pages`, { params }))).appPages,
    async row(tenantID, appPageID) {
      const params = { path: { tenantID, appPageID } };
      return (await body(rest.GET(`${T}/app-pages/{appPageID}`, { params }))).appPage;
    },
    named: ({ id, appPageTitle: title }) => ({ id, title }),
  }),
  variable: searched({
    noun: 'variable',
    list: 'variable.list',
    key: (tenantID) => ['variables', tenantID],
    rows: async (params) => (await body(rest.GET(`${T}/variables`, { params }))).variables,
    async row(tenantID, variableID) {
      const params = { path: { tenantID, variableID } };
      return (await body(rest.GET(`${T}/variables/{variableID}`, { params }))).variable;
    },
    named: ({ id, name }) => ({ id, title: name }),
  }),
  folder: {
    noun: 'folder',
    list: 'folder.list',
    key: (tenantID) => ['folders', tenantID],
    // Folders are listed by what they hold, which an id does not say.
    search: async () => [],
    async find(tenantID, folderID) {
      const { folder } = await body(rest.GET(`${T}/folders/{folderID}`, { params: { path: { tenantID, folderID } } }));
      return { id: folderID, title: folder.folderTitle };
    },
  },
  role: searched({
    noun: 'role',
    list: 'role.list',
    create: 'role.create',
    key: (tenantID) => ['roles', tenantID],
    rows: async (params) => (await body(rest.GET(`${T}/roles`, { params }))).roles,
    async row(tenantID, roleID) {
      const params = { path: { tenantID, roleID } };
      return (await body(rest.GET(`${T}/roles/{roleID}`, { params }))).role;
    },
    named: ({ roleID, roleName, roleDescription }) => ({
      id: roleID,
      title: roleName,
      ...(roleDescription && { detail: roleDescription }),
    }),
  }),
  user: {
    noun: 'member',
    list: 'user.list',
    create: 'user.create',
    key: (tenantID) => ['members', tenantID],
    async search(tenantID, search) {
      const { users } = await body(rest.GET(`${T}/users`, { params: listOf(tenantID, search) }));
      // Who is invited has no id of a user yet, and is named by the address.
      const invited = (email: string | null) => (email ? [{ id: email, title: email, detail: 'invited' }] : []);
      return users.flatMap(({ userID, email }) =>
        userID === null ? invited(email) : [{ id: userID, title: email ?? userID }],
      );
    },
    async find(tenantID, tenantUserID) {
      const { user } = await body(
        rest.GET(`${T}/users/{tenantUserID}`, { params: { path: { tenantID, tenantUserID } } }),
      );
      return { id: tenantUserID, title: user.email ?? tenantUserID };
    },
  },
  oauthConnection: {
    noun: 'account',
    list: 'datasource.list',
    create: 'datasource.update',
    key: (tenantID) => ['settings', tenantID, 'accounts'],
    async search(tenantID, search) {
      const accounts = await everyPage(async (query) => {
        const params = { path: { tenantID }, query };
        const { oauthConnections: rows, nextCursor } = await body(rest.GET(`${T}/oauth-connections`, { params }));
        return { rows, nextCursor };
      });
      // The list cannot be searched by the API, and is short.
      const fits = ({ title }: Named) => title.toLowerCase().includes(search.toLowerCase());
      return accounts.map(namedAccount).filter(fits).slice(0, SHOWN);
    },
    async find(tenantID, oauthConnectionID) {
      const params = { path: { tenantID, oauthConnectionID } };
      const { oauthConnection } = await body(rest.GET(`${T}/oauth-connections/{oauthConnectionID}`, { params }));
      return namedAccount(oauthConnection);
    },
  },
} as const satisfies Record<string, Source>;

/** The types of which a picker knows how to find them. */
export type PickedType = keyof typeof sources;

/** In the order in which a choice of several types lists them. */
export const sourceOf: Readonly<Record<PickedType, Source>> = sources;

export function isPicked(type: unknown): type is PickedType {
  return typeof type === 'string' && Object.hasOwn(sources, type);
}

export function referencesRead(tenantID: string, type: PickedType, search: string) {
  return queryOptions({
    queryKey: [...sourceOf[type].key(tenantID), 'picked', type, search],
    queryFn: () => sourceOf[type].search(tenantID, search),
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  });
}

export function referenceRead(tenantID: string, type: PickedType, id: string) {
  return queryOptions({
    queryKey: [...sourceOf[type].key(tenantID), 'named', type, id],
    queryFn: () => sourceOf[type].find(tenantID, id),
    staleTime: 10_000,
  });
}

function namedWorkflow({
  id,
  title,
  workflowOptions,
  ...rest
}: Pick<Schemas['Workflow'], 'id' | 'title' | 'publishedVersionID'> & {
  workflowOptions: { inputDefinitions?: unknown };
}): Named {
  const inputs = workflowOptions.inputDefinitions;
  return { id, title, inputs, ...(rest.publishedVersionID === null && { detail: 'not published yet' }) };
}

function namedQuery({ dataQueryID, dataQueryTitle, datasourceType, dataQueryOptions }: Schemas['DataQuery']): Named {
  const inputs = (dataQueryOptions as { inputDefinitions?: unknown }).inputDefinitions;
  return {
    id: dataQueryID,
    title: dataQueryTitle,
    detail: datasourceType === OWN ? OWN_TITLE : datasourceType,
    inputs,
  };
}

function namedSource({ datasourceID, datasourceTitle, datasourceType }: Schemas['Datasource']): Named {
  return { id: datasourceID, title: datasourceTitle, detail: datasourceType };
}

function namedAccount({ oauthConnectionID, name, provider }: Schemas['OAuthConnection']): Named {
  return { id: oauthConnectionID, title: name, detail: provider };
}
