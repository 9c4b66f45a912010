import { requireFolder } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { requireBindable } from './check.ts';
import { getAppPage } from './find.ts';
import { presentAppPage } from './present.ts';
import { changeAppPage, storedConfig } from './save.ts';
import { AppPageID, AppPageUpdate, Changed } from './schemas.ts';

export const updateAppPage = tenantRoute({
  name: 'updateAppPage',
  method: 'patch',
  path: '/app-pages/:appPageID',
  summary: 'Update an app page',
  description:
    'Fields that are left out stay as they are. Another title, description or config is saved as the next version. Unless the page is a draft, the caller and the creator of the page need the permission to execute what it binds.',
  permission: 'appPage.update',
  object: ({ params }) => `appPage:${params.appPageID}`,
  params: AppPageID,
  body: AppPageUpdate,
  response: Changed,
  etag: ({ appPage }) => appPage.versionNumber,
  conditional: true,

  async handle({ params, body, caller, em, require, requireMatch }, context) {
    const { changeNote, appPageConfig, ...change } = body;
    const config = appPageConfig && { appPageConfig: storedConfig(appPageConfig) };
    return em.transactional(async (tx) => {
      const page = await getAppPage(tx, params.appPageID, { lock: true });
      requireMatch(page.versionNumber);
      await requireFolder(tx, 'appPage', change.folderID);
      const { isDraft = page.isDraft } = change;
      if (!isDraft && (config || page.isDraft))
        await requireBindable({ em: tx, caller, require }, context, {
          page,
          config: config?.appPageConfig ?? page.appPageConfig,
        });
      await changeAppPage(tx, page, { change: { ...change, ...config }, caller, changeNote });
      return { appPage: presentAppPage(page), message: 'App page updated' };
    });
  },
});
