import { Widget } from '#shared/entities/tables/widget.ts';
import { createAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import { bindingAccess, checkConfig } from './config.ts';
import { presentWidget } from './present.ts';
import { Changed, WidgetCreate } from './schemas.ts';

export const createWidget = tenantRoute({
  name: 'createWidget',
  method: 'post',
  path: '/widgets',
  summary: 'Create a widget',
  description:
    'Stores a widget. Needs `dataquery.execute` and `workflow.execute` on what its config names: who may execute the widget may see the data of its queries.',
  status: 201,
  access: ({ body }) => [{ permission: 'widget.create', object: 'widget:*' }, ...bindingAccess(body.widgetConfig)],
  body: WidgetCreate,
  response: Changed,
  etag: ({ widget }) => widget.versionNumber,
  idempotent: 'transaction',

  async handle({ body, caller, em, newAssetID, reportUnknown }) {
    reportUnknown(await checkConfig(em, body.widgetConfig));
    const { widgetTitle, widgetType, widgetConfig, widgetDescription, refreshInterval = 0, folderID } = body;
    const widget = await createAsset(em, caller, 'widget', Widget, {
      id: newAssetID(),
      widgetTitle,
      widgetType,
      widgetConfig,
      widgetDescription,
      refreshInterval,
      folderID,
    });
    return { widget: presentWidget(widget), message: 'Widget created' };
  },
});
