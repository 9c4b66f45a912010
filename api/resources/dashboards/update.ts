import { requireFolder } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { getDashboard } from './find.ts';
import { presentDashboard } from './present.ts';
import { changeDashboard, storedConfig } from './save.ts';
import { Changed, DashboardID, DashboardUpdate } from './schemas.ts';

export const updateDashboard = tenantRoute({
  name: 'updateDashboard',
  method: 'patch',
  path: '/dashboards/:dashboardID',
  summary: 'Update a dashboard',
  description:
    'Fields that are left out stay as they are. Another title, description or config is saved as the next version.',
  permission: 'dashboard.update',
  object: ({ params }) => `dashboard:${params.dashboardID}`,
  params: DashboardID,
  body: DashboardUpdate,
  response: Changed,
  etag: ({ dashboard }) => dashboard.versionNumber,
  conditional: true,

  async handle({ params, body: { changeNote, dashboardConfig, ...change }, caller, em, requireMatch }) {
    const config = dashboardConfig && { dashboardConfig: storedConfig(dashboardConfig) };
    return em.transactional(async (tx) => {
      const dashboard = await getDashboard(tx, params.dashboardID, { lock: true });
      requireMatch(dashboard.versionNumber);
      await requireFolder(tx, 'dashboard', change.folderID);
      await changeDashboard(tx, dashboard, { change: { ...change, ...config }, caller, changeNote });
      return { dashboard: presentDashboard(dashboard), message: 'Dashboard updated' };
    });
  },
});
