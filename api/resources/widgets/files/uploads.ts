import { z } from 'zod';
import type { Permission } from '#shared/access/policy/permissions.ts';
import { AppError } from '#shared/core/errors.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { AppPage } from '#shared/entities/tables/app-page.ts';
import { Dashboard } from '#shared/entities/tables/dashboard.ts';
import { TenantFile } from '#shared/entities/tables/tenant-file.ts';
import { Widget } from '#shared/entities/tables/widget.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { Flag } from '../../../http/fields/flag.ts';
import { findPage, pageFields, pageQuery, standardPage } from '../../../http/fields/paging.ts';
import { Message } from '../../../http/fields/response-parts.ts';
import { noFile } from '../../../http/response/send-file.ts';
import type { Condition } from '../../../tenant/visible-rows.ts';
import { exampleUpload } from '../examples.ts';
import { fileAddressOf, widgetFileFields } from './address.ts';
import { findFileUsers } from './users.ts';

const Upload = z
  .object({
    ...widgetFileFields,
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'WidgetUpload', examples: [exampleUpload] });

export const listWidgetFiles = tenantRoute({
  name: 'listWidgetFiles',
  method: 'get',
  path: '/widgets/uploads',
  summary: 'List the files that were uploaded for widgets',
  description: 'Returns the files that were uploaded for widgets, newest first.',
  permission: 'widget.list',
  query: z.object(pageQuery(standardPage)),
  response: z.object({ files: z.array(Upload), ...pageFields }).meta({ id: 'WidgetUploadPage' }),

  async handle({ query, em }) {
    const { rows, fields } = await findPage(em, TenantFile, { where: { purpose: 'widget' }, query });
    return { files: rows.map(presentUpload), ...fields };
  },
});

export const deleteWidgetFile = tenantRoute({
  name: 'deleteWidgetFile',
  method: 'delete',
  path: '/widgets/uploads/:widgetFileID',
  summary: 'Delete a file that was uploaded for widgets',
  description:
    'Deletes a file. While widgets, app pages or dashboards name it, that is a CONFLICT that lists them; with `force` they show nothing in its place from then on.',
  permission: 'widget.delete',
  onWholeType: true,
  params: z.object({ tenantID: idOf('tenant'), widgetFileID: idOf('widgetFile') }),
  query: z.object({ force: Flag.describe('Deletes the file although widgets use it') }),
  response: z.object({ message: Message }),
  errors: ['409'],

  async handle({ params: { widgetFileID: fileID }, query: { force }, em, tenantID, visible }, { pool }) {
    const file = await em.findOne(TenantFile, { id: fileID, purpose: 'widget' });
    if (!file) throw noFile();
    const users = force ? undefined : await findFileUsers(pool, tenantID, fileID);
    if (users && users.count > 0)
      throw new AppError(
        'CONFLICT',
        `${users.count === 1 ? '1 asset uses' : `${users.count} assets use`} this file; force=true deletes it all the same`,
        { details: await presentUsers({ em, visible }, users) },
      );
    await em.remove(file).flush();
    return { message: 'File deleted' };
  },
});

interface Showing {
  em: EntityManager;
  visible(permission: Permission): Promise<Condition>;
}

type Users = Awaited<ReturnType<typeof findFileUsers>>;

/** Assets that the error names; further ones, and those that the caller may not read, are only counted. */
const SHOWN = 200;

async function presentUsers({ em, visible }: Showing, users: Users) {
  const options = { limit: SHOWN, orderBy: { createdAt: 'desc' as const } };
  const shownOf = async (permission: Permission, ids: readonly string[]) => ({
    ...{ id: { $in: [...ids] } },
    ...(await visible(permission)),
  });
  const widgets = await em.find(Widget, await shownOf('widget.read', users.widget), options);
  const appPages = await em.find(AppPage, await shownOf('appPage.read', users.appPage), options);
  const dashboards = await em.find(Dashboard, await shownOf('dashboard.read', users.dashboard), options);
  return {
    widgets: widgets.map(({ id, widgetTitle }) => ({ widgetID: id, widgetTitle })),
    appPages: appPages.map(({ id, appPageTitle }) => ({ appPageID: id, appPageTitle })),
    dashboards: dashboards.map(({ id, dashboardTitle }) => ({ dashboardID: id, dashboardTitle })),
    others: {
      widgets: users.widget.length - widgets.length,
      appPages: users.appPage.length - appPages.length,
      dashboards: users.dashboard.length - dashboards.length,
    },
  };
}

function presentUpload({ id, tenantID, fileName, fileSize, fileType, createdAt }: TenantFile): z.input<typeof Upload> {
  const { url, filePath } = fileAddressOf(tenantID, id);
  return { fileID: id, url, filePath, fileName, fileSize, fileType, createdAt: createdAt.toISOString() };
}
