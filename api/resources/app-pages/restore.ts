import { tenantRoute } from '../../context/routes.ts';
import { getVersion } from '../../versions/asset-versions.ts';
import { requireBindable } from './check.ts';
import { getAppPage } from './find.ts';
import { presentAppPage } from './present.ts';
import { changeAppPage } from './save.ts';
import { AppPageVersionID, Changed } from './schemas.ts';

export const restoreAppPage = tenantRoute({
  name: 'restoreAppPageVersion',
  method: 'post',
  path: '/app-pages/:appPageID/versions/:appPageVersionID/restore',
  summary: 'Restore a version of an app page',
  description:
    'Saves the content of a version as the latest version. Nothing is saved if the page has that content. What it binds is checked as in an update.',
  permission: 'appPage.update',
  object: ({ params }) => `appPage:${params.appPageID}`,
  params: AppPageVersionID,
  response: Changed,
  etag: ({ appPage }) => appPage.versionNumber,
  conditional: true,
  // Repeating it changes nothing more.
  idempotent: false,

  async handle({ params, caller, em, require, requireMatch }, context) {
    return em.transactional(async (tx) => {
      const page = await getAppPage(tx, params.appPageID, { lock: true });
      requireMatch(page.versionNumber);
      const { number, title, description, config } = await getVersion(tx, page.id, params.appPageVersionID);
      if (!page.isDraft) await requireBindable({ em: tx, caller, require }, context, { page, config });
      const change = { appPageTitle: title, appPageDescription: description ?? null, appPageConfig: config };
      await changeAppPage(tx, page, { change, caller, changeNote: `Version ${number} restored` });
      return { appPage: presentAppPage(page), message: `Version ${number} restored` };
    });
  },
});
