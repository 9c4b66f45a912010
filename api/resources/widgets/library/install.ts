import { widgetAssets } from '#shared/apps/widgets/named-assets.ts';
import { newID } from '#shared/core/ids.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Widget } from '#shared/entities/tables/widget.ts';
import { createAsset } from '../../../assets/assets.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { bindingAccess, findMissing } from '../config.ts';
import { getEntry } from './entries.ts';
import { EntryID, Installation, Preview, StoredBundle, type WidgetItem } from './schemas.ts';

export const previewLibraryEntry = tenantRoute({
  name: 'previewLibraryEntry',
  method: 'post',
  path: '/widget-library/:libraryEntryID/preview',
  summary: 'Preview the installation of a widget',
  description: 'Says what an installation would do, and which queries and workflows of the widget do not exist here.',
  permission: 'widgetLibrary.install',
  onWholeType: true,
  params: EntryID,
  response: Preview,
  idempotent: false,

  async handle({ params, em }) {
    const { item, missing, warnings } = await planInstallation(em, params.libraryEntryID);
    return {
      valid: true,
      summary: { createCount: 1, warningCount: warnings.length, missingDependencyCount: missing.length },
      items: [
        {
          type: item.type,
          id: item.id,
          title: item.payload.widgetTitle,
          action: 'create' as const,
          warnings,
          missingDependencies: missing,
        },
      ],
    };
  },
});

export const installLibraryEntry = tenantRoute({
  name: 'installLibraryEntry',
  method: 'post',
  path: '/widget-library/:libraryEntryID/install',
  summary: 'Install a widget of the library',
  description:
    'Creates a copy of the widget. Queries and workflows that it names and that do not exist here are warnings: bind others.',
  status: 201,
  access: () => [
    { permission: 'widgetLibrary.install', object: 'widgetLibrary:*' },
    { permission: 'widget.create', object: 'widget:*' },
  ],
  params: EntryID,
  response: Installation,
  idempotent: 'transaction',

  async handle({ params, caller, em, require }) {
    const { item, warnings } = await planInstallation(em, params.libraryEntryID);
    const { widgetTitle, widgetDescription, widgetType, widgetConfig, refreshInterval = 0 } = item.payload;
    // If the tenant has published the widget itself, its assets exist here, and callers who may execute the copy see
    // their data.
    await require(bindingAccess(widgetConfig));
    const { id } = await createAsset(em, caller, 'widget', Widget, {
      id: newID(),
      widgetTitle,
      widgetDescription,
      widgetType,
      widgetConfig,
      refreshInterval,
    });
    const results = [{ type: item.type, originalID: item.id, newID: id }];
    return { results, skipped: [], warnings, message: 'Widget installed' };
  },
});

interface Plan {
  item: WidgetItem;
  missing: { type: string; id: string }[];
  warnings: string[];
}

async function planInstallation(em: EntityManager, libraryEntryID: string): Promise<Plan> {
  const { bundle } = await getEntry(em, libraryEntryID);
  const [item] = StoredBundle.parse(bundle).items;
  if (!item) throw new Error('A stored bundle has one widget');
  const { widgetTitle, widgetConfig } = item.payload;
  const paths = new Set((await findMissing(em, widgetAssets(widgetConfig))).map(({ path }) => path.join('.')));
  const named = widgetAssets(widgetConfig).filter(({ path }) => paths.has(path.join('.')));
  const missing = [...new Map(named.map(({ type, id }) => [id, { type, id }])).values()];
  const isThere = (await em.count(Widget, { widgetTitle })) > 0;
  const words = { dataquery: 'data query', workflow: 'workflow' } as const;
  return {
    item,
    missing,
    warnings: [
      ...(isThere ? [`A widget with the title "${widgetTitle}" exists already`] : []),
      ...missing.map(({ type, id }) => `The ${words[type]} ${id} does not exist here: bind another`),
    ],
  };
}
