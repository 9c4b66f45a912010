import { newID } from '#shared/core/ids.ts';
import { Widget } from '#shared/entities/tables/widget.ts';
import { createAsset } from '../../assets/assets.ts';
import { titleOfCopy } from '../../assets/copy-title.ts';
import { folderOfCopy } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { bindingAccess } from './config.ts';
import { getWidget } from './find.ts';
import { presentWidget } from './present.ts';
import { Changed, WidgetID } from './schemas.ts';

export const cloneWidget = tenantRoute({
  name: 'cloneWidget',
  method: 'post',
  path: '/widgets/:widgetID/clone',
  summary: 'Clone a widget',
  description: 'Copies a widget. Needs the permissions that creating it needs.',
  access: ({ params }) => [
    { permission: 'widget.read', object: `widget:${params.widgetID}` },
    { permission: 'widget.create', object: 'widget:*' },
  ],
  params: WidgetID,
  response: Changed,
  etag: ({ widget }) => widget.versionNumber,
  idempotent: 'transaction',

  async handle({ params, caller, em, require }) {
    const original = await getWidget(em, params.widgetID);
    await require(bindingAccess(original.widgetConfig));
    const { widgetType, widgetConfig, widgetDescription, refreshInterval } = original;
    const widget = await createAsset(em, caller, 'widget', Widget, {
      id: newID(),
      widgetTitle: titleOfCopy(original.widgetTitle),
      widgetType,
      widgetConfig,
      widgetDescription,
      refreshInterval,
      folderID: await folderOfCopy(em, 'widget', original),
    });
    return { widget: presentWidget(widget), message: 'Widget copied' };
  },
});
