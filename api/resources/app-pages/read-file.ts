import { z } from 'zod';
import { textArray } from '#shared/db/array.ts';
import { tenantRoute } from '../../context/routes.ts';
import { noFile } from '../../http/response/send-file.ts';
import { placedWidgetsOf } from '../../pages/bindings.ts';
import { FilePath, sendWidgetFile } from '../../pages/widget-file.ts';
import { openPage } from './open-page.ts';
import { AppPageID } from './schemas.ts';

export const readPageFile = tenantRoute({
  name: 'getAppPageFile',
  method: 'get',
  path: '/app-pages/:appPageID/files',
  summary: 'Get a file that a widget of an app page shows',
  description:
    'Returns the bytes of an uploaded file that the config of a widget on the page names. The caller needs the permission to read the page, and none on its widgets; the creator of the page must be allowed to execute that widget. Sent as files of widgets are.',
  permission: 'appPage.read',
  object: ({ params }) => `appPage:${params.appPageID}`,
  params: AppPageID,
  query: z.object({ path: FilePath.describe('The `filePath` of the upload') }),
  produces: 'application/octet-stream',
  response: z.object({}),
  errors: ['404'],

  async handle({ params: { appPageID }, query: { path }, em, tenantID, caller, response, signal }, context) {
    const { page, mayCreator } = await openPage({ em, tenantID, caller }, context, appPageID);
    const placed = placedWidgetsOf(page.appPageConfig).map(({ widgetID }) => widgetID);
    const { rows } = await context.pool.query<{ id: string }>(NAMING, [
      ...[tenantID, textArray([...new Set(placed)]), `%${path.fileID}%`],
    ]);
    const mayShow = await Promise.all(rows.map(({ id }) => mayCreator('widget.execute', `widget:${id}`)));
    if (!mayShow.includes(true)) throw noFile();
    await sendWidgetFile(context.files, { em, tenantID, path, response, signal });
    return {};
  },
});

const NAMING = `
select id from widget where tenant_id = $1 and id = any($2::text[]::uuid[]) and widget_config::text ilike $3`;
