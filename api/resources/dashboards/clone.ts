import { titleOfCopy } from '../../assets/copy-title.ts';
import { folderOfCopy } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { getDashboard } from './find.ts';
import { presentDashboard } from './present.ts';
import { addDashboard } from './save.ts';
import { Changed, DashboardID } from './schemas.ts';

export const cloneDashboard = tenantRoute({
  name: 'cloneDashboard',
  method: 'post',
  path: '/dashboards/:dashboardID/clone',
  summary: 'Clone a dashboard',
  description: 'Copies a dashboard without its versions. The copy shows the same widgets.',
  status: 201,
  access: ({ params }) => [
    { permission: 'dashboard.read', object: `dashboard:${params.dashboardID}` },
    { permission: 'dashboard.create', object: 'dashboard:*' },
  ],
  params: DashboardID,
  response: Changed,
  etag: ({ dashboard }) => dashboard.versionNumber,
  idempotent: 'transaction',

  async handle({ params, caller, em }) {
    const original = await getDashboard(em, params.dashboardID);
    const { dashboardDescription, dashboardConfig } = original;
    const folderID = await folderOfCopy(em, 'dashboard', original);
    const dashboardTitle = titleOfCopy(original.dashboardTitle);
    const copy = await addDashboard(em, caller, { dashboardTitle, dashboardDescription, dashboardConfig, folderID });
    return { dashboard: presentDashboard(copy), message: 'Dashboard cloned' };
  },
});
