import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { Widget as WidgetEntity } from '#shared/entities/tables/widget.ts';
import { deleteAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { cloneWidget } from './clone.ts';
import { createWidget } from './create.ts';
import { readGivenWidgetData, readManyWidgetData, readWidgetData } from './data.ts';
import { describeWidgets } from './describe.ts';
import { readWidgetFile, uploadWidgetFile } from './files/files.ts';
import { deleteWidgetFile, listWidgetFiles } from './files/uploads.ts';
import { getWidget } from './find.ts';
import { presentWidget } from './present.ts';
import { Changed, WidgetID, WidgetList, Widgets } from './schemas.ts';
import { updateWidget } from './update.ts';

/** Fixed paths come before `:widgetID`, which would take them for an id. */
export const widgetRoutes = [
  tenantRoute({
    name: 'listWidgets',
    method: 'get',
    path: '/widgets',
    summary: 'List widgets',
    description: 'Returns the widgets the caller may read, newest first.',
    permission: 'widget.list',
    filter: true,
    query: WidgetList,
    response: Widgets,
    errors: ['413'],

    async handle({ query, em, visible }) {
      const { search, folderID, widgetType } = query;
      const where: FilterQuery<WidgetEntity> = {
        ...(await visible('widget.read')),
        ...(search && { widgetTitle: containing(search) }),
        ...(folderID && { folderID }),
        ...(widgetType && { widgetType }),
      };
      const { rows, fields } = await findPage(em, WidgetEntity, { where, query, large: ['widgetConfig'] });
      return { widgets: rows.map(presentWidget), ...fields, message: 'Widgets found' };
    },
  }),

  createWidget,
  describeWidgets,
  readGivenWidgetData,
  readManyWidgetData,
  uploadWidgetFile,
  readWidgetFile,
  listWidgetFiles,
  deleteWidgetFile,

  tenantRoute({
    name: 'getWidget',
    method: 'get',
    path: '/widgets/:widgetID',
    summary: 'Get a widget',
    description: 'Returns a widget with its config.',
    permission: 'widget.read',
    object: ({ params }) => `widget:${params.widgetID}`,
    params: WidgetID,
    response: Changed,
    etag: ({ widget }) => widget.versionNumber,

    async handle({ params, em }) {
      return { widget: presentWidget(await getWidget(em, params.widgetID)), message: 'Widget found' };
    },
  }),

  updateWidget,

  tenantRoute({
    name: 'deleteWidget',
    method: 'delete',
    path: '/widgets/:widgetID',
    summary: 'Delete a widget',
    description: 'Deletes a widget.',
    permission: 'widget.delete',
    object: ({ params }) => `widget:${params.widgetID}`,
    params: WidgetID,
    response: z.object({ message: Message }),
    conditional: true,

    async handle({ params, em, requireMatch }) {
      return em.transactional(async (tx) => {
        const widget = await getWidget(tx, params.widgetID, { lock: true });
        requireMatch(widget.versionNumber);
        await deleteAsset(tx, 'widget', widget);
        return { message: 'Widget deleted' };
      });
    },
  }),

  cloneWidget,
  readWidgetData,
];
