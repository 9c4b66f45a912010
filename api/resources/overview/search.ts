import { type EntityName, type FilterQuery, raw } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { Permission } from '#shared/access/policy/permissions.ts';
import { onEntities } from '#shared/db/query.ts';
import { AppPage } from '#shared/entities/tables/app-page.ts';
import { CronJob } from '#shared/entities/tables/cron-job.ts';
import { Dashboard } from '#shared/entities/tables/dashboard.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { Listener } from '#shared/entities/tables/listener.ts';
import { Widget } from '#shared/entities/tables/widget.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { tenantRoute } from '../../context/routes.ts';
import { containing } from '../../http/fields/paging.ts';
import type { TenantInput } from '../../http/route/input.ts';
import { amongNewest } from '../../runs/among-newest.ts';
import { findRunsByText } from '../../runs/find-by-text.ts';
import { findTitles } from './find-titles.ts';
import { type SearchedType, SearchQuery, SearchResults, searchedTypes } from './schemas.ts';

type Input = Pick<
  TenantInput<z.ZodUndefined, typeof SearchQuery, z.ZodUndefined>,
  'em' | 'tenantID' | 'visible' | 'scopeOf' | 'query'
>;
type Found = z.input<typeof SearchResults>['results'];

export const searchTenant = tenantRoute({
  name: 'searchTenant',
  method: 'get',
  path: '/search',
  summary: 'Search a tenant',
  description:
    'Finds by title, among the newest 5,000 of each type, what the caller may list and read. Every member may ask.',
  forMembers: true,
  query: SearchQuery,
  response: SearchResults,

  handle: async (input) => ({ results: await search(input) }),
});

export async function search(input: Input): Promise<Found> {
  const { types = searchedTypes } = input.query;
  const results: Found = [];
  // One after the other: the request has one connection.
  for (const type of new Set(types))
    results.push(...(type === 'run' ? await findRuns(input) : await findAssets(input, type)));
  return results;
}

interface Searched {
  // biome-ignore lint/suspicious/noExplicitAny: entities of every shape; the name of the title is that of one of its fields
  entity: EntityName<any>;
  table: string;
  title: string;
  permissions: readonly [list: Permission, read: Permission];
}

const searched: Record<Exclude<z.output<typeof SearchedType>, 'run'>, Searched> = {
  workflow: {
    ...{ entity: Workflow, table: 'workflow', title: 'title' },
    permissions: ['workflow.list', 'workflow.read'],
  },
  dataQuery: {
    ...{ entity: DataQuery, table: 'data_query', title: 'dataQueryTitle' },
    permissions: ['dataquery.list', 'dataquery.read'],
  },
  datasource: {
    ...{ entity: Datasource, table: 'datasource', title: 'datasourceTitle' },
    permissions: ['datasource.list', 'datasource.read'],
  },
  cronJob: {
    ...{ entity: CronJob, table: 'cron_job', title: 'cronJobTitle' },
    permissions: ['cronjob.list', 'cronjob.read'],
  },
  listener: {
    ...{ entity: Listener, table: 'listener', title: 'listenerTitle' },
    permissions: ['listener.list', 'listener.read'],
  },
  appPage: {
    ...{ entity: AppPage, table: 'app_page', title: 'appPageTitle' },
    permissions: ['appPage.list', 'appPage.read'],
  },
  dashboard: {
    ...{ entity: Dashboard, table: 'dashboard', title: 'dashboardTitle' },
    permissions: ['dashboard.list', 'dashboard.read'],
  },
  widget: {
    ...{ entity: Widget, table: 'widget', title: 'widgetTitle' },
    permissions: ['widget.list', 'widget.read'],
  },
};

const MAX_ASSETS = 5_000;

async function findAssets(
  { em, tenantID, visible, scopeOf, query: { q, limit } }: Input,
  type: keyof typeof searched,
): Promise<Found> {
  const { entity, table, title, permissions } = searched[type];
  const [list, read] = permissions;
  if ((await scopeOf(list)) === 'none' || (await scopeOf(read)) === 'none') return [];
  const where = {
    $and: [amongNewest({ table, tenantID, max: MAX_ASSETS }), await visible(read), { [title]: containing(q) }],
  } as FilterQuery<Record<string, unknown>>;
  const column = em.getMetadata().get(entity).properties[title]?.fieldNames[0] ?? title;
  // In hex: MikroORM writes the values of an order into the statement, and takes a question mark in them for a placeholder.
  const text = `convert_from(decode(?, 'hex'), 'utf8')`;
  const begins = raw(
    (alias) => `position(lower(${text}) in lower(${alias}.${column}))`,
    [Buffer.from(q).toString('hex')],
  );
  const rows: Record<string, unknown>[] = await em.find(entity, where, {
    fields: ['id', title] as never,
    orderBy: [{ [begins.key]: 'asc' }, { createdAt: 'desc' }, { id: 'desc' }] as never,
    limit,
  });
  return rows.map((row) => ({ type, id: String(row.id), title: String(row[title]) }));
}

async function findRuns({ em, tenantID, visible, scopeOf, query: { q, limit } }: Input): Promise<Found> {
  if ((await scopeOf('workflow.read')) === 'none') return [];
  const ids = await findRunsByText(onEntities(em), tenantID, q);
  if (ids.length === 0) return [];
  const where = { $and: [{ id: { $in: ids }, mapID: null }, await visible('workflow.read', 'workflow_id')] };
  const rows = await em.find(WorkflowInstance, where, {
    fields: ['id', 'workflowID', 'status'],
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    limit,
  });
  const titles = await findTitles(em, rows);
  return rows.map(({ id, workflowID, status }) => ({
    ...{ type: 'run' as const, id, status },
    title: titles.get(workflowID ?? '') ?? 'Unsaved workflow',
  }));
}
