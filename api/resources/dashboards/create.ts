import { tenantRoute } from '../../context/routes.ts';
import { presentDashboard } from './present.ts';
import { addDashboard, storedConfig } from './save.ts';
import { Changed, DashboardCreate } from './schemas.ts';

export const createDashboard = tenantRoute({
  name: 'createDashboard',
  method: 'post',
  path: '/dashboards',
  summary: 'Create a dashboard',
  description: 'Stores the widgets of a dashboard and their places.',
  status: 201,
  permission: 'dashboard.create',
  body: DashboardCreate,
  response: Changed,
  etag: ({ dashboard }) => dashboard.versionNumber,
  idempotent: 'transaction',

  async handle({ body, caller, em, newAssetID }) {
    const dashboard = await addDashboard(em, caller, {
      ...body,
      id: newAssetID(),
      dashboardConfig: storedConfig(body.dashboardConfig),
    });
    return { dashboard: presentDashboard(dashboard), message: 'Dashboard created' };
  },
});
