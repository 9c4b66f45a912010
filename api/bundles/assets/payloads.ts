import type { EntityClass } from '@mikro-orm/postgresql';
import type { JsonObject } from '#shared/core/json.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { AppPage } from '#shared/entities/tables/app-page.ts';
import { CronJob } from '#shared/entities/tables/cron-job.ts';
import { Dashboard } from '#shared/entities/tables/dashboard.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { Folder } from '#shared/entities/tables/folder.ts';
import { Listener } from '#shared/entities/tables/listener.ts';
import { ListenerAction } from '#shared/entities/tables/listener-action.ts';
import { Role } from '#shared/entities/tables/role.ts';
import { TenantVariable } from '#shared/entities/tables/tenant-variable.ts';
import { Widget } from '#shared/entities/tables/widget.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { maskOptions } from '../../resources/datasources/options.ts';
import type { BundledType } from './bundle-types.ts';

/** How assets of a type become payloads. */
interface Reader<E extends { id: string }> {
  entity: EntityClass<E>;
  /** SQL of the bytes that the assets with the ids `$1` have as text; absent where rows are small. */
  size?: string;
  /** A condition on rows, in addition to the filter by tenant. */
  where?: object;
  /**
   * Reads rows of other tables that belong to the assets. The function it returns gives the payload fields of an asset
   * from them.
   */
  around?(em: EntityManager, rows: readonly E[]): Promise<(row: E) => JsonObject>;
  payload(row: E): JsonObject;
}

function reader<E extends { id: string }>(definition: Reader<E>): Reader<{ id: string }> {
  // Safe: a reader gets only rows of its own entity.
  return definition as unknown as Reader<{ id: string }>;
}

function sizeOf(table: string, column: string, id = 'id'): string {
  return `select coalesce(sum(octet_length(${column}::text)), 0)::float8 as bytes from ${table} where ${id} = any($1::uuid[])`;
}

const SHOWN_VERSION =
  'coalesce(w.version_id, (select id from workflow_version where workflow_id = w.id order by number desc limit 1))';
const GRAPH_SIZE = `
select coalesce(sum(octet_length(v.nodes::text) + octet_length(v.edges::text) + octet_length(v.options::text)), 0)::float8 as bytes
from workflow w join workflow_version v on v.id = ${SHOWN_VERSION} where w.id = any($1::uuid[])`;

/**
 * Payloads have the fields of the body that creates the asset. Assets that start work by themselves are exported
 * switched off.
 */
export const readers: Readonly<Record<BundledType, Reader<{ id: string }>>> = {
  folder: reader<Folder>({
    entity: Folder,
    payload: ({ entityType, folderTitle, parentFolderID = null }) => ({ entityType, folderTitle, parentFolderID }),
  }),
  variable: reader<TenantVariable>({
    entity: TenantVariable,
    payload: ({ name, value, secret, description = null }) => ({
      name,
      value: typeof secret === 'string' ? MASK : (value?.is ?? null),
      isSecret: typeof secret === 'string',
      description,
    }),
  }),
  datasource: reader<Datasource>({
    entity: Datasource,
    size: sizeOf('datasource', 'datasource_options'),
    payload: (row) => ({
      datasourceTitle: row.datasourceTitle,
      datasourceDescription: row.datasourceDescription ?? null,
      datasourceType: row.datasourceType,
      datasourceOptions: maskOptions(row),
      datasourceTags: row.datasourceTags,
    }),
  }),
  dataQuery: reader<DataQuery>({
    entity: DataQuery,
    size: sizeOf('data_query', 'data_query_options'),
    payload: (row) => ({
      dataQueryTitle: row.dataQueryTitle,
      dataQueryDescription: row.dataQueryDescription ?? null,
      datasourceID: row.datasourceID ?? null,
      datasourceType: row.datasourceType,
      dataQueryOptions: row.dataQueryOptions,
      runOnLoad: row.runOnLoad,
      isDisabled: row.isDisabled,
    }),
  }),
  workflow: reader<Workflow>({
    entity: Workflow,
    size: GRAPH_SIZE,
    around: graphsOf,
    payload: ({ title, workflowDescription = null, isDisabled, versionID = null }) => ({
      title,
      workflowDescription,
      isDisabled,
      draft: versionID === null,
    }),
  }),
  widget: reader<Widget>({
    entity: Widget,
    size: sizeOf('widget', 'widget_config'),
    payload: (row) => ({
      widgetTitle: row.widgetTitle,
      widgetDescription: row.widgetDescription ?? null,
      widgetType: row.widgetType,
      widgetConfig: row.widgetConfig,
      refreshInterval: row.refreshInterval,
    }),
  }),
  listener: reader<Listener>({
    entity: Listener,
    size: sizeOf('listener_action', 'action_config', 'listener_id'),
    around: actionsOf,
    payload: (row) => ({
      listenerTitle: row.listenerTitle,
      listenerDescription: row.listenerDescription ?? null,
      listenerType: row.listenerType,
      datasourceID: row.datasourceID,
      listenerConfig: row.listenerConfig,
      endpointPath: row.endpointPath ?? null,
      status: 'inactive',
    }),
  }),
  appPage: reader<AppPage>({
    entity: AppPage,
    size: sizeOf('app_page', 'app_page_config'),
    payload: ({ appPageTitle, appPageDescription = null, appPageConfig, isDraft }) => ({
      appPageTitle,
      appPageDescription,
      appPageConfig,
      isDraft,
    }),
  }),
  dashboard: reader<Dashboard>({
    entity: Dashboard,
    size: sizeOf('dashboard', 'dashboard_config'),
    payload: ({ dashboardTitle, dashboardDescription = null, dashboardConfig }) => ({
      dashboardTitle,
      dashboardDescription,
      dashboardConfig,
    }),
  }),
  cronJob: reader<CronJob>({
    entity: CronJob,
    size: sizeOf('cron_job', 'cron_job_config'),
    payload: (row) => ({
      cronJobTitle: row.cronJobTitle,
      cronJobDescription: row.cronJobDescription ?? null,
      cronJobSchedule: row.cronJobSchedule,
      timezone: row.timezone,
      cronJobType: row.cronJobType,
      cronJobConfig: row.cronJobConfig,
      overlapPolicy: row.overlapPolicy,
      missedRunPolicy: row.missedRunPolicy,
      missedRunWindowSeconds: row.missedRunWindowSeconds,
      jitterSeconds: row.jitterSeconds,
      timeoutSeconds: row.timeoutSeconds,
      retryAttempts: row.retryAttempts,
      retryDelaySeconds: row.retryDelaySeconds,
      cronJobEnabled: false,
    }),
  }),
  role: reader<Role>({
    entity: Role,
    size: sizeOf('role', 'asset_permissions'),
    // Roles of the whole deployment exist for every tenant already.
    where: { tenantID: { $ne: null } },
    payload: ({ roleName, roleDescription = null, permissions, assetPermissions }) => ({
      roleName,
      roleDescription,
      rolePermissions: permissions,
      assetPermissions: assetPermissions.map((permission) => ({ ...permission })),
    }),
  }),
};

/** The published graphs of workflows; of those without a published version, the latest graphs. */
async function graphsOf(em: EntityManager, rows: readonly Workflow[]): Promise<(row: Workflow) => JsonObject> {
  const published = rows.flatMap(({ versionID }) => versionID ?? []);
  const drafts = rows.filter(({ versionID }) => !versionID);
  const versions = await em.find(WorkflowVersion, { id: { $in: published } });
  for (const { id: workflowID } of drafts)
    versions.push(await em.findOneOrFail(WorkflowVersion, { workflowID }, { orderBy: { number: 'desc' } }));
  const byWorkflow = new Map(versions.map((version) => [version.workflowID, version]));
  return ({ id }) => {
    const { options = {}, nodes = [], edges = [] } = byWorkflow.get(id) ?? {};
    return { workflowOptions: options, workflowNodes: nodes, workflowEdges: edges };
  };
}

async function actionsOf(em: EntityManager, rows: readonly Listener[]): Promise<(row: Listener) => JsonObject> {
  const orderBy = [{ orderIndex: 'asc' as const }, { createdAt: 'asc' as const }, { id: 'asc' as const }];
  const where = { listenerID: { $in: rows.map(({ id }) => id) } };
  const byListener = Map.groupBy(await em.find(ListenerAction, where, { orderBy }), ({ listenerID }) => listenerID);
  return ({ id }) => ({
    actions: (byListener.get(id) ?? []).map(({ actionType, actionConfig, isEnabled, orderIndex }) => ({
      actionType,
      actionConfig,
      isEnabled,
      orderIndex,
    })),
  });
}
