import type { Permission } from '#shared/access/policy/permissions.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Config } from '#shared/process/config.ts';
import type { Schema } from '../http/openapi/types.ts';
import type { ComposedTool, ToolArguments, ToolResult } from './tool.ts';

/** Kinds of assets, each with the tool that lists them. */
const kinds = [
  { kind: 'datasource', list: 'list_datasources', field: 'datasources', permission: 'datasource.list' },
  { kind: 'query', list: 'list_queries', field: 'dataQueries', permission: 'dataquery.list' },
  { kind: 'widget', list: 'list_widgets', field: 'widgets', permission: 'widget.list' },
  { kind: 'appPage', list: 'list_app_pages', field: 'appPages', permission: 'appPage.list' },
  { kind: 'listener', list: 'list_listeners', field: 'listeners', permission: 'listener.list' },
  { kind: 'workflow', list: 'list_workflows', field: 'workflows', permission: 'workflow.list' },
] as const satisfies readonly { kind: string; list: string; field: string; permission: Permission }[];
type Kind = (typeof kinds)[number];

type Call = (name: string, args: ToolArguments) => Promise<ToolResult>;

const reads = { readOnlyHint: true, destructiveHint: false, idempotentHint: true } as const;
const someList = kinds.map(({ permission }) => [{ permission }]);

/** Tools of the contract that no single route serves. */
export function composedTools({ oauth }: Pick<Config, 'oauth'>): ComposedTool[] {
  return [summaryTool, searchTool, sampleTool, previewTool(oauth.publicURL)];
}

const Asset: Schema = {
  type: 'object',
  properties: {
    kind: { enum: kinds.map(({ kind }) => kind) },
    id: { type: 'string' },
    title: { type: 'string' },
    type: { type: 'string' },
  },
  required: ['kind', 'id', 'title'],
};

const summaryTool: ComposedTool = {
  name: 'get_tenant_resource_summary',
  group: 'Tenants',
  description:
    'Summarize the assets of the tenant. Counts datasources, queries, widgets, app pages, listeners and workflows, and lists the newest 20 of each with id, title and type. Kinds that you may not list are left out.\n\nUse it first: one call shows which assets the tenant has, in place of a call for each kind.\n\nCost: six lists, one after the other; it changes nothing.',
  inputSchema: { type: 'object', properties: {} },
  outputSchema: responseSchema({
    resources: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: { count: { type: 'integer' }, items: { type: 'array', items: Asset } },
        required: ['count', 'items'],
      },
    },
  }),
  annotations: { title: 'Summarize the tenant', openWorldHint: false, ...reads },
  required: someList,
  async run(_args, call) {
    const pages = await listEach(kinds, {}, call);
    const resources = pages.map(({ kind, assets, count }) => [kind, { count, items: assets }] as const);
    return success({ resources: Object.fromEntries(resources) });
  },
};

const searchTool: ComposedTool = {
  name: 'search_resources',
  group: 'Tenants',
  description:
    'Search assets by title. Finds datasources, queries, widgets, app pages, listeners and workflows whose title contains the text, at most 20 of each kind.\n\nUse it to get the id of something that the user names.\n\nCost: a list for each kind, one after the other; it changes nothing.',
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string' },
      types: {
        type: 'array',
        items: { type: 'string', enum: kinds.map(({ kind }) => kind) },
        description: 'Kinds to search; absent: all',
      },
    },
    required: ['query'],
  },
  outputSchema: responseSchema({ results: { type: 'array', items: Asset } }),
  annotations: { title: 'Search assets', openWorldHint: false, ...reads },
  required: someList,
  async run({ query, types }, call) {
    if (typeof query !== 'string' || query === '') throw wrong('query', 'a text');
    if (types !== undefined && !(Array.isArray(types) && types.every((it) => kinds.some(({ kind }) => kind === it))))
      throw wrong('types', `a list of ${kinds.map(({ kind }) => kind).join(', ')}`);
    const chosen = kinds.filter(({ kind }) => types === undefined || types.length === 0 || types.includes(kind));
    const pages = await listEach(chosen, { search: query }, call);
    return success({ results: pages.flatMap(({ assets }) => assets) });
  },
};

const MAX_SAMPLE = 50;

const sampleTool: ComposedTool = {
  name: 'get_datasource_sample_data',
  group: 'Datasources',
  description:
    'Get the first rows of a table. Works for PostgreSQL, MySQL and SQL Server.\n\nUse it after get_datasource_schema, to see what values the columns hold.\n\nCost: waits for the server of the datasource, up to 30 seconds; it changes nothing.',
  inputSchema: {
    type: 'object',
    properties: {
      datasourceID: { type: 'string' },
      table: {
        type: 'string',
        description: 'With its schema, if it has one: `public.orders`',
      },
      limit: { type: 'integer', minimum: 1, maximum: MAX_SAMPLE, description: 'Default: 5' },
    },
    required: ['datasourceID', 'table'],
  },
  outputSchema: { type: 'object', properties: { success: { const: true } }, required: ['success'] },
  annotations: { title: 'Get the first rows of a table', openWorldHint: true, ...reads },
  required: [[{ permission: 'datasource.read' }, { permission: 'dataquery.test', object: 'dataquery:*' }]],
  async run({ datasourceID, table, limit = 5 }, call) {
    if (typeof table !== 'string' || table === '') throw wrong('table', 'a text');
    if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MAX_SAMPLE)
      throw wrong('limit', `a whole number from 1 to ${MAX_SAMPLE}`);
    const found = await call('get_datasource', { datasourceID });
    if (found.status !== 200) return found;
    const { datasourceType } = found.body.datasource as { datasourceType: string };
    const statement = statements[datasourceType]?.(table.split('.'), limit);
    if (!statement)
      throw new AppError(
        'INVALID_REQUEST',
        `A datasource of the type ${datasourceType} has no tables to sample: use test_query_by_data`,
      );
    return call('test_query_by_data', { datasourceID, datasourceType, dataQueryOptions: { query: statement } });
  },
};

type Statement = (table: readonly string[], limit: number) => string;

const quoted =
  (open: string, close = open) =>
  (parts: readonly string[]) =>
    parts.map((part) => open + part.replaceAll(close, close + close) + close).join('.');

const statements: Readonly<Record<string, Statement>> = {
  postgresql: (table, limit) => `select * from ${quoted('"')(table)} limit ${limit}`,
  mysql: (table, limit) => `select * from ${quoted('`')(table)} limit ${limit}`,
  mssql: (table, limit) => `select top ${limit} * from ${quoted('[', ']')(table)}`,
};

function previewTool(publicURL: string): ComposedTool {
  return {
    name: 'get_app_page_preview_url',
    group: 'App pages',
    description:
      'Get the address of an app page. It is the address at which the API answers with the page; an admin UI draws it.\n\nUse it when the user wants to open a page.\n\nCost: low; it changes nothing.',
    inputSchema: {
      type: 'object',
      properties: { appPageID: { type: 'string' } },
      required: ['appPageID'],
    },
    outputSchema: responseSchema({ url: { type: 'string' } }),
    annotations: { title: 'Get the address of an app page', openWorldHint: false, ...reads },
    required: [[{ permission: 'appPage.read' }]],
    async run({ appPageID }, call) {
      const found = await call('get_app_page', { appPageID });
      if (found.status !== 200) return found;
      const { id, tenantID } = found.body.appPage as { id: string; tenantID: string };
      return success({ url: `${publicURL}/api/v1/tenants/${tenantID}/app-pages/${id}` });
    },
  };
}

interface Listed {
  kind: Kind['kind'];
  count: number;
  assets: Record<string, unknown>[];
}

/**
 * Lists the kinds that the caller may list, one after another: one call of a model should not use six connections at
 * once.
 */
async function listEach(chosen: readonly Kind[], args: ToolArguments, call: Call): Promise<Listed[]> {
  const pages: Listed[] = [];
  for (const { kind, list, field } of chosen) {
    const { status, body } = await call(list, args);
    if (status === 403) continue;
    if (status !== 200) throw failure(body);
    const rows = body[field] as Record<string, unknown>[];
    pages.push({ kind, count: Number(body.totalCount ?? rows.length), assets: rows.map((row) => present(kind, row)) });
  }
  return pages;
}

function present(kind: Kind['kind'], row: Record<string, unknown>): Record<string, unknown> {
  const prefix = kind === 'query' ? 'dataQuery' : kind;
  const type = row[`${prefix}Type`] ?? row.datasourceType;
  return {
    kind,
    id: row.id,
    title: row[`${prefix}Title`] ?? row.title ?? '',
    ...(typeof type === 'string' && { type }),
  };
}

function failure(body: ToolResult['body']): AppError {
  const { code, message } = body.error as { code: ConstructorParameters<typeof AppError>[0]; message: string };
  return new AppError(code, message);
}

function wrong(name: string, expected: string): AppError {
  return new AppError('VALIDATION_ERROR', `${name}: expected ${expected}`);
}

function success(fields: Record<string, unknown>): ToolResult {
  return { status: 200, body: { success: true, ...fields } };
}

function responseSchema(properties: Record<string, Schema>): Schema {
  return {
    type: 'object',
    properties: { success: { const: true }, ...properties },
    required: ['success', ...Object.keys(properties)],
  };
}
