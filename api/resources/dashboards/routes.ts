import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { Dashboard as Entity } from '#shared/entities/tables/dashboard.ts';
import { deleteAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { AssetSchema, describeAsset } from '../../http/forms/asset-schema.ts';
import { DashboardConfig } from '../../pages/dashboard-config.ts';
import { versionRoutes } from '../../versions/routes.ts';
import { cloneDashboard } from './clone.ts';
import { readDashboardContent } from './content.ts';
import { createDashboard } from './create.ts';
import { getDashboard } from './find.ts';
import { presentDashboard, presentVersion, presentVersionSummary } from './present.ts';
import { restoreDashboard } from './restore.ts';
import {
  Changed,
  DashboardID,
  DashboardList,
  Dashboards,
  DashboardVersionSummary as Summary,
  DashboardVersion as Version,
} from './schemas.ts';
import { updateDashboard } from './update.ts';

/** Fixed paths come before `:dashboardID`, which would take them for an id. */
export const dashboardRoutes = [
  tenantRoute({
    name: 'listDashboards',
    method: 'get',
    path: '/dashboards',
    summary: 'List dashboards',
    description: 'Returns the dashboards the caller may read, newest first.',
    permission: 'dashboard.list',
    filter: true,
    query: DashboardList,
    response: Dashboards,
    errors: ['413'],

    async handle({ query, em, visible }) {
      const { search, folderID } = query;
      const where: FilterQuery<Entity> = {
        ...(await visible('dashboard.read')),
        ...(search && { dashboardTitle: containing(search) }),
        ...(folderID && { folderID }),
      };
      const { rows, fields } = await findPage(em, Entity, { where, query, large: ['dashboardConfig'] });
      return { dashboards: rows.map(presentDashboard), ...fields, message: 'Dashboards found' };
    },
  }),

  createDashboard,

  tenantRoute({
    name: 'getDashboardSchema',
    method: 'get',
    path: '/dashboards/schemas',
    summary: 'Get the schema of dashboards',
    description: 'Returns a JSON Schema of `dashboardConfig`.',
    permission: 'dashboard.list',
    filter: true,
    response: AssetSchema,

    async handle() {
      const schemas = describeAsset('dashboard', 'Widgets in a grid', DashboardConfig);
      return { schemas, message: 'Dashboard schema' };
    },
  }),

  tenantRoute({
    name: 'getDashboard',
    method: 'get',
    path: '/dashboards/:dashboardID',
    summary: 'Get a dashboard',
    description: 'Returns a dashboard.',
    permission: 'dashboard.read',
    object: ({ params }) => `dashboard:${params.dashboardID}`,
    params: DashboardID,
    response: Changed,
    etag: ({ dashboard }) => dashboard.versionNumber,

    async handle({ params, em }) {
      return { dashboard: presentDashboard(await getDashboard(em, params.dashboardID)), message: 'Dashboard found' };
    },
  }),

  updateDashboard,

  tenantRoute({
    name: 'deleteDashboard',
    method: 'delete',
    path: '/dashboards/:dashboardID',
    summary: 'Delete a dashboard',
    description: 'Deletes a dashboard with its versions. Its widgets stay.',
    permission: 'dashboard.delete',
    object: ({ params }) => `dashboard:${params.dashboardID}`,
    params: DashboardID,
    response: z.object({ message: Message }),
    conditional: true,

    async handle({ params, em, requireMatch }) {
      return em.transactional(async (tx) => {
        const dashboard = await getDashboard(tx, params.dashboardID, { lock: true });
        requireMatch(dashboard.versionNumber);
        await deleteAsset(tx, 'dashboard', dashboard);
        return { message: 'Dashboard deleted' };
      });
    },
  }),

  cloneDashboard,
  ...versionRoutes({
    resource: 'dashboard',
    noun: 'a dashboard',
    name: 'Dashboard',
    path: '/dashboards/:dashboardID',
    ids: { asset: 'dashboardID', version: 'dashboardVersionID' },
    Summary,
    Version,
    get: getDashboard,
    presentSummary: presentVersionSummary,
    presentVersion,
    contentOf: ({ title, description = null, config }) => ({
      dashboardTitle: title,
      dashboardDescription: description,
      dashboardConfig: config,
    }),
  }),
  restoreDashboard,
  readDashboardContent,
];
