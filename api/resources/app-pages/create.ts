import { invalid } from '#shared/core/schema/issues.ts';
import { tenantRoute } from '../../context/routes.ts';
import { demandsOf } from '../../pages/bindings.ts';
import { findMissing } from './check.ts';
import { presentAppPage } from './present.ts';
import { addAppPage, storedConfig } from './save.ts';
import { AppPageCreate, Changed } from './schemas.ts';

export const createAppPage = tenantRoute({
  name: 'createAppPage',
  method: 'post',
  path: '/app-pages',
  summary: 'Create an app page',
  description:
    'Stores a page with its layout and what it binds. Its viewers may run the queries and workflows that it binds, as its creator, who needs the permission to execute each. A draft runs nothing.',
  status: 201,
  access: ({ body: { isDraft, appPageConfig } }) => [
    { permission: 'appPage.create', object: 'appPage:*' },
    // Its values have come from JSON.
    ...(isDraft ? [] : demandsOf(appPageConfig)),
  ],
  body: AppPageCreate,
  response: Changed,
  etag: ({ appPage }) => appPage.versionNumber,
  idempotent: 'transaction',

  async handle({ body, caller, em, newAssetID }) {
    const appPageConfig = storedConfig(body.appPageConfig);
    const missing = body.isDraft ? [] : await findMissing(em, appPageConfig);
    if (missing.length > 0) throw invalid(missing);
    const appPage = await addAppPage(em, caller, { ...body, id: newAssetID(), appPageConfig });
    return { appPage: presentAppPage(appPage), message: 'App page created' };
  },
});
