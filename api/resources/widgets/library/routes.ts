import { z } from 'zod';
import { requireQuota } from '#shared/access/quotas.ts';
import { inEntityTransaction, onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { WidgetLibraryEntry } from '#shared/entities/tables/widget-library-entry.ts';
import { operatorRoute, tenantRoute } from '../../../context/routes.ts';
import { Message } from '../../../http/fields/response-parts.ts';
import { listEntries, noEntry, presentEntry, publishEntry } from './entries.ts';
import { installLibraryEntry, previewLibraryEntry } from './install.ts';
import { Entries, EntryCreate, EntryID, EntryList, Published } from './schemas.ts';

export const widgetLibraryRoutes = [
  tenantRoute({
    name: 'listLibraryEntries',
    method: 'get',
    path: '/widget-library',
    summary: 'List the widget library',
    description: 'Returns the widgets that tenants and operators of the deployment have published, newest first.',
    permission: 'widgetLibrary.list',
    query: EntryList,
    response: Entries,

    handle: ({ query, em, tenantID }) => listEntries(em, query, { tenantID }),
  }),

  tenantRoute({
    name: 'publishLibraryEntry',
    method: 'post',
    path: '/widget-library',
    summary: 'Publish a widget',
    description:
      'Adds a widget to the library, for all tenants of the deployment. Its config is shown to them: publish no secrets.',
    status: 201,
    permission: 'widgetLibrary.publish',
    body: EntryCreate,
    response: Published,
    idempotent: 'transaction',

    async handle({ body: { bundle }, em, tenantID, identity }) {
      const entry = await inEntityTransaction(em, async () => {
        await requireQuota(onEntities(em), { quota: 'libraryEntries', ownerID: tenantID });
        return publishEntry(em, bundle, { sourceTenantID: tenantID, publishedByUserID: identity.userID });
      });
      return { entry: presentEntry(entry, { tenantID }), message: 'Widget published' };
    },
  }),

  previewLibraryEntry,
  installLibraryEntry,

  tenantRoute({
    name: 'unpublishLibraryEntry',
    method: 'delete',
    path: '/widget-library/:libraryEntryID',
    summary: 'Unpublish a widget',
    description: 'Removes a widget that this tenant has published. Installed copies stay.',
    permission: 'widgetLibrary.unpublish',
    onWholeType: true,
    params: EntryID,
    response: z.object({ message: Message }),

    async handle({ params: { libraryEntryID: id }, em, tenantID }) {
      await removeEntry(em, await em.findOne(WidgetLibraryEntry, { id, sourceTenantID: tenantID }, WITHOUT_BUNDLE));
      return { message: 'Widget unpublished' };
    },
  }),
];

export const operatorLibraryRoutes = [
  operatorRoute({
    name: 'listAllLibraryEntries',
    method: 'get',
    path: '/widget-library',
    summary: 'List the widget library as an operator',
    description: 'Returns all entries, newest first, with the tenants that have published them.',
    query: EntryList,
    response: Entries,

    handle: ({ query, em }) => listEntries(em, query, 'operator'),
  }),

  operatorRoute({
    name: 'publishDeploymentLibraryEntry',
    method: 'post',
    path: '/widget-library',
    summary: 'Publish a widget as an operator',
    description: 'Adds a widget to the library that belongs to no tenant.',
    status: 201,
    body: EntryCreate,
    response: Published,
    idempotent: 'transaction',

    async handle({ body: { bundle }, em }) {
      const entry = await publishEntry(em, bundle, { sourceTenantID: null, publishedByUserID: null });
      return { entry: presentEntry(entry, 'operator'), message: 'Widget published' };
    },
  }),

  operatorRoute({
    name: 'deleteAnyLibraryEntry',
    method: 'delete',
    path: '/widget-library/:libraryEntryID',
    summary: 'Remove any widget of the library',
    description: 'Removes an entry of any tenant. Installed copies stay.',
    params: EntryID,
    response: z.object({ message: Message }),
    errors: ['404'],

    async handle({ params: { libraryEntryID: id }, em, auditFor }) {
      const entry = await em.findOne(WidgetLibraryEntry, { id }, WITHOUT_BUNDLE);
      if (entry?.sourceTenantID) await auditFor([entry.sourceTenantID]);
      await removeEntry(em, entry);
      return { message: 'Widget removed' };
    },
  }),
];

const WITHOUT_BUNDLE = { exclude: ['bundle'] as const };

async function removeEntry(em: EntityManager, entry: object | null): Promise<void> {
  if (!entry) throw noEntry();
  await em.remove(entry).flush();
}
