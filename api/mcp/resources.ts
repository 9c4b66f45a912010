import type { ListResourcesResult, ReadResourceResult } from '@modelcontextprotocol/server';
import { listGuides } from '../tools/agent/guides.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { ToolResult } from '../tools/tool.ts';
import { internalError, invalidParams } from './protocol-errors.ts';
import type { Session } from './session.ts';

const mimeType = 'application/json';
const MARKDOWN = 'text/markdown';

/** Assets that can be read, by the first part of their address. */
const assets = [
  {
    kind: 'workflows',
    list: 'list_workflows',
    field: 'workflows',
    title: 'title',
    get: 'get_workflow',
    id: 'workflowID',
  },
  {
    kind: 'queries',
    list: 'list_queries',
    field: 'dataQueries',
    title: 'dataQueryTitle',
    get: 'get_query',
    id: 'dataQueryID',
  },
] as const;

/** Forms that can be read as a whole. */
const schemas = {
  workflow: 'get_workflow_schema',
  datasources: 'get_datasource_schemas',
  queries: 'get_data_query_schemas',
  listeners: 'get_listener_schemas',
  widgets: 'get_widget_schemas',
  'app-page': 'get_app_page_schema',
} as const;

export const schemaKinds = Object.keys(schemas);

export const resourceTemplates = [
  {
    name: 'workflow',
    title: 'Workflow',
    uriTemplate: 'gantry://workflows/{workflowID}',
    description: 'A workflow with its graph',
    mimeType,
  },
  {
    name: 'query',
    title: 'Query',
    uriTemplate: 'gantry://queries/{dataQueryID}',
    description: 'A stored query',
    mimeType,
  },
  {
    name: 'schema',
    title: 'Schema',
    uriTemplate: 'gantry://schemas/{kind}',
    description: `The form of ${schemaKinds.join(', ')}`,
    mimeType,
  },
  {
    name: 'guide',
    title: 'Guide',
    uriTemplate: 'gantry://guides/{guide}',
    description: 'A part of the documentation',
    mimeType: MARKDOWN,
  },
];

export function argumentsOfTemplate(uri: string): string[] {
  if (!resourceTemplates.some(({ uriTemplate }) => uriTemplate === uri))
    throw invalidParams(`There is no resource template ${JSON.stringify(uri.slice(0, 200))}`);
  return [...uri.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

/** The schemas and guides, then the workflows, then the queries that the caller may read, a page of each list at a time. */
export async function listResources(
  registry: ToolRegistry,
  { caller }: Session,
  cursor: string | undefined,
): Promise<ListResourcesResult> {
  const [listKind = '', after] = cursor === undefined ? ['workflows'] : cursor.split(' ', 2);
  const at = assets.findIndex(({ kind }) => kind === listKind);
  const asset = assets[at];
  if (!asset) throw invalidParams('cursor: expected the nextCursor of an earlier page');
  const { status, body } = await registry.call(caller, asset.list, { limit: 50, ...(after && { cursor: after }) });
  // A caller who may not list the assets sees none.
  if (status !== 200 && status !== 403) throw failed(body);
  const rows = status === 200 ? (body[asset.field] as Record<string, unknown>[]) : [];
  const own = rows.map((row) => ({
    uri: `gantry://${asset.kind}/${String(row.id)}`,
    name: String(row[asset.title] ?? row.id),
    mimeType,
  }));
  const next = typeof body.nextCursor === 'string' ? `${asset.kind} ${body.nextCursor}` : assets[at + 1]?.kind;
  return {
    resources: [...(cursor === undefined ? [...forms(), ...(await guides())] : []), ...own],
    ...(next !== undefined && { nextCursor: next }),
  };
}

function forms() {
  return schemaKinds.map((kind) => ({ uri: `gantry://schemas/${kind}`, name: `Schema: ${kind}`, mimeType }));
}

async function guides() {
  const all = await listGuides();
  return all.map(({ name, title }) => ({
    uri: `gantry://guides/${name}`,
    name: `Guide: ${title}`,
    mimeType: MARKDOWN,
  }));
}

export async function readResource(
  registry: ToolRegistry,
  { caller }: Session,
  uri: string,
): Promise<ReadResourceResult> {
  const [, kind = '', id = ''] = /^gantry:\/\/([a-z]+)\/([\w-]{1,64})$/.exec(uri) ?? [];
  if (kind === 'guides') return { contents: [{ uri, mimeType: MARKDOWN, text: await guideAt(id) }] };
  const asset = assets.find((known) => known.kind === kind);
  const form = kind === 'schemas' ? Object.entries(schemas).find(([name]) => name === id)?.[1] : undefined;
  if (!asset && !form) throw invalidParams(`There is no resource ${JSON.stringify(uri.slice(0, 200))}`);
  const { status, body } = await registry.call(caller, asset?.get ?? form ?? '', asset ? { [asset.id]: id } : {});
  if (status !== 200) throw failed(body);
  return { contents: [{ uri, mimeType, text: JSON.stringify(body) }] };
}

async function guideAt(name: string): Promise<string> {
  const found = (await listGuides()).find((guide) => guide.name === name);
  if (!found) throw invalidParams(`There is no guide ${JSON.stringify(name)}`);
  return found.text;
}

function failed({ error }: ToolResult['body']): Error {
  const { code, message } = error as { code: string; message: string };
  return code === 'INTERNAL_ERROR' ? internalError(message) : invalidParams(`${code}: ${message}`);
}
