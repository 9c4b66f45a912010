import { z } from 'zod';
import { Widget } from '#shared/entities/tables/widget.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { placedWidgetsOf } from '../../pages/bindings.ts';
import { missingWidget, PlacedWidget, presentPlaced } from '../../pages/placed-widgets.ts';
import { getDashboard } from './find.ts';
import { presentDashboard } from './present.ts';
import { Dashboard, DashboardID } from './schemas.ts';

export const readDashboardContent = tenantRoute({
  name: 'getDashboardContent',
  method: 'get',
  path: '/dashboards/:dashboardID/content',
  summary: 'Get a dashboard with its widgets',
  description:
    'Returns a dashboard and the widgets on it, as a browser needs them to show it. A widget that the caller may not execute has an error in its place: a dashboard gives no right to what is on it.',
  permission: 'dashboard.read',
  object: ({ params }) => `dashboard:${params.dashboardID}`,
  params: DashboardID,
  response: z.object({ dashboard: Dashboard, widgets: z.array(PlacedWidget), message: Message }),
  etag: ({ dashboard }) => dashboard.versionNumber,

  async handle({ params: { dashboardID }, em, visible }) {
    const dashboard = await getDashboard(em, dashboardID);
    const placed = placedWidgetsOf(dashboard.dashboardConfig);
    const ids = [...new Set(placed.map(({ widgetID }) => widgetID))];
    // One that is gone and one that may not be seen have the same answer.
    const found = await em.find(Widget, { id: { $in: ids }, ...(await visible('widget.execute')) });
    const byID = new Map(found.map((widget) => [widget.id, widget]));
    const widgets = placed.map(({ widgetKey, widgetID }) => {
      const widget = byID.get(widgetID);
      return widget ? presentPlaced(widgetKey, widget) : missingWidget({ widgetKey, widgetID }, NOT_SHOWN);
    });
    return { dashboard: presentDashboard(dashboard), widgets, message: 'Dashboard found' };
  },
});

const NOT_SHOWN = { code: 'PERMISSION_DENIED', message: 'This widget is gone, or you may not see it' };
