import { tenantRoute } from '../../context/routes.ts';
import { getVersion } from '../../versions/asset-versions.ts';
import { getDashboard } from './find.ts';
import { presentDashboard } from './present.ts';
import { changeDashboard } from './save.ts';
import { Changed, DashboardVersionID } from './schemas.ts';

export const restoreDashboard = tenantRoute({
  name: 'restoreDashboardVersion',
  method: 'post',
  path: '/dashboards/:dashboardID/versions/:dashboardVersionID/restore',
  summary: 'Restore a version of a dashboard',
  description:
    'Saves the content of a version as the latest version. Nothing is saved if the dashboard has that content.',
  permission: 'dashboard.update',
  object: ({ params }) => `dashboard:${params.dashboardID}`,
  params: DashboardVersionID,
  response: Changed,
  etag: ({ dashboard }) => dashboard.versionNumber,
  conditional: true,
  // Repeating it changes nothing more.
  idempotent: false,

  async handle({ params, caller, em, requireMatch }) {
    return em.transactional(async (tx) => {
      const dashboard = await getDashboard(tx, params.dashboardID, { lock: true });
      requireMatch(dashboard.versionNumber);
      const { number, title, description, config } = await getVersion(tx, dashboard.id, params.dashboardVersionID);
      const change = { dashboardTitle: title, dashboardDescription: description ?? null, dashboardConfig: config };
      await changeDashboard(tx, dashboard, { change, caller, changeNote: `Version ${number} restored` });
      return { dashboard: presentDashboard(dashboard), message: `Version ${number} restored` };
    });
  },
});
