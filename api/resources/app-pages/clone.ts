import { invalid } from '#shared/core/schema/issues.ts';
import { titleOfCopy } from '../../assets/copy-title.ts';
import { folderOfCopy } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { demandsOf } from '../../pages/bindings.ts';
import { findMissing } from './check.ts';
import { getAppPage } from './find.ts';
import { presentAppPage } from './present.ts';
import { addAppPage } from './save.ts';
import { AppPageID, Changed } from './schemas.ts';

export const cloneAppPage = tenantRoute({
  name: 'cloneAppPage',
  method: 'post',
  path: '/app-pages/:appPageID/clone',
  summary: 'Clone an app page',
  description:
    'Copies a page without its versions. The copy runs what it binds as the caller, who needs the permission to execute it unless it is a draft.',
  status: 201,
  access: ({ params }) => [
    { permission: 'appPage.read', object: `appPage:${params.appPageID}` },
    { permission: 'appPage.create', object: 'appPage:*' },
  ],
  params: AppPageID,
  response: Changed,
  etag: ({ appPage }) => appPage.versionNumber,
  idempotent: 'transaction',

  async handle({ params, caller, em, require }) {
    const original = await getAppPage(em, params.appPageID);
    const { appPageDescription, appPageConfig, isDraft } = original;
    if (!isDraft) await require(demandsOf(appPageConfig));
    const missing = isDraft ? [] : await findMissing(em, appPageConfig);
    if (missing.length > 0) throw invalid(missing);
    const folderID = await folderOfCopy(em, 'appPage', original);
    const appPageTitle = titleOfCopy(original.appPageTitle);
    const copy = await addAppPage(em, caller, { appPageTitle, appPageDescription, appPageConfig, isDraft, folderID });
    return { appPage: presentAppPage(copy), message: 'App page cloned' };
  },
});
