import { requireFolder } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { bindingAccess, checkConfig } from './config.ts';
import { getWidget } from './find.ts';
import { presentWidget } from './present.ts';
import { Changed, WidgetID, WidgetUpdate } from './schemas.ts';

export const updateWidget = tenantRoute({
  name: 'updateWidget',
  method: 'patch',
  path: '/widgets/:widgetID',
  summary: 'Update a widget',
  description: 'Fields that are left out stay as they are. The config is given as a whole.',
  access: ({ params, body }) => [
    { permission: 'widget.update', object: `widget:${params.widgetID}` },
    ...bindingAccess(body.widgetConfig),
  ],
  params: WidgetID,
  body: WidgetUpdate,
  response: Changed,
  etag: ({ widget }) => widget.versionNumber,
  conditional: true,

  async handle({ params, body, em, reportUnknown, requireMatch }) {
    return em.transactional(async (tx) => {
      const widget = await getWidget(tx, params.widgetID, { lock: true });
      requireMatch(widget.versionNumber);
      if (body.widgetConfig) reportUnknown(await checkConfig(tx, body.widgetConfig));
      await requireFolder(tx, 'widget', body.folderID);
      tx.assign(widget, body, { ignoreUndefined: true, mergeObjectProperties: false });
      const { folderID: _moved, ...content } = body;
      if (Object.values(content).some((value) => value !== undefined)) widget.versionNumber += 1;
      await tx.flush();
      return { widget: presentWidget(widget), message: 'Widget updated' };
    });
  },
});
