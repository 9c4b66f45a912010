import { z } from 'zod';
import { Widget } from '#shared/entities/tables/widget.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { placedWidgetsOf } from '../../pages/bindings.ts';
import { missingWidget, PlacedWidget, presentPlaced } from '../../pages/placed-widgets.ts';
import { creatorDenied, openPage } from './open-page.ts';
import { presentAppPage } from './present.ts';
import { AppPage, AppPageID } from './schemas.ts';

export const readPageContent = tenantRoute({
  name: 'getAppPageContent',
  method: 'get',
  path: '/app-pages/:appPageID/content',
  summary: 'Get an app page with its widgets',
  description:
    'Returns a page and the widgets on it, as a browser needs them to show it. The caller needs the permission to read the page, and none on its widgets; the creator of the page must be allowed to execute each.',
  permission: 'appPage.read',
  object: ({ params }) => `appPage:${params.appPageID}`,
  params: AppPageID,
  response: z.object({ appPage: AppPage, widgets: z.array(PlacedWidget), message: Message }),
  etag: ({ appPage }) => appPage.versionNumber,

  async handle({ params: { appPageID }, em, tenantID, caller }, context) {
    const { page, mayCreator } = await openPage({ em, tenantID, caller }, context, appPageID);
    const placed = placedWidgetsOf(page.appPageConfig);
    const found = await em.find(Widget, { id: { $in: [...new Set(placed.map(({ widgetID }) => widgetID))] } });
    const byID = new Map(found.map((widget) => [widget.id, widget]));
    const widgets = placed.map(async ({ widgetKey, widgetID }) => {
      const widget = byID.get(widgetID);
      if (!widget) return missingWidget({ widgetKey, widgetID });
      if (await mayCreator('widget.execute', `widget:${widgetID}`)) return presentPlaced(widgetKey, widget);
      const { code, message } = creatorDenied('widget');
      return missingWidget({ widgetKey, widgetID }, { code, message });
    });
    return { appPage: presentAppPage(page), widgets: await Promise.all(widgets), message: 'App page found' };
  },
});
