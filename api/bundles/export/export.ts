import { z } from 'zod';
import type { Permission } from '#shared/access/policy/permissions.ts';
import { AppError } from '#shared/core/errors.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { type ApiRoute, tenantRoute } from '../../context/routes.ts';
import type { Condition } from '../../tenant/visible-rows.ts';
import { type BundledType, bundledTypes } from '../assets/bundle-types.ts';
import { collect, tooMany } from '../assets/collect.ts';
import { kinds } from '../assets/kinds.ts';
import { readers } from '../assets/payloads.ts';
import { MAX_ITEMS, type Reading, readAssets, type TenantAsset } from '../assets/read-assets.ts';
import { presentUnfollowed, templatedIDs, unfollowed } from '../assets/templated-ids.ts';
import { type Bundle, BundleExport, type BundleItem, Exported } from '../schemas.ts';
import { writeItems } from './write-bundle.ts';

const everyType: ReadonlySet<BundledType> = new Set(bundledTypes);
const withoutFolders: ReadonlySet<BundledType> = new Set(bundledTypes.filter((type) => type !== 'folder'));
const nothing: ReadonlySet<BundledType> = new Set();

interface Source {
  em: EntityManager;
  tenantID: string;
  visible(permission: Permission): Promise<Condition>;
}

export const exportBundle = tenantRoute({
  name: 'exportBundle',
  method: 'post',
  path: '/export',
  summary: 'Export assets',
  description:
    'Returns assets with all that they need as a bundle, without secrets. Without `items` it is every asset that the caller may read. The same assets always give the same text.',
  permission: 'bundle.export',
  body: BundleExport,
  response: Exported,
  errors: ['413'],
  // Repeating it changes nothing.
  idempotent: false,

  async handle({ body, em, tenantID, visible }) {
    const { items, types = bundledTypes, withDependencies, withFolders } = body;
    const source = { em, tenantID, visible };
    const reading: Reading = { em, bytes: 0 };
    const roots: TenantAsset[] = [];
    for (const type of bundledTypes) {
      if (!items && (!types.includes(type) || (type === 'folder' && !withFolders))) continue;
      const condition = await visible(kinds[type].read);
      const wanted = items?.filter((item) => item.type === type).map(({ id }) => id);
      const ids = wanted ?? (await allOf(em, type, condition));
      const found = await readAssets(reading, type, [...new Set(ids)], condition);
      if (wanted) requireAll(type, wanted, found);
      roots.push(...found);
    }
    const all = withFolders ? everyType : withoutFolders;
    const contents = { roots, follow: withDependencies ? all : nothing, withFolders };
    const exported = await bundleOf(source, reading, contents);
    return { ...exported, message: `${exported.bundle.items.length} assets exported` };
  },
});

async function allOf(em: EntityManager, type: BundledType, condition: Condition): Promise<string[]> {
  const { entity, where = {} } = readers[type];
  const options = { fields: ['id' as const], limit: MAX_ITEMS + 1, orderBy: { id: 'asc' as const } };
  const rows = await em.find(entity, { ...condition, ...where }, options);
  if (rows.length > MAX_ITEMS) throw tooMany();
  em.clear();
  return rows.map(({ id }) => id);
}

function requireAll(type: BundledType, wanted: readonly string[], found: readonly TenantAsset[]): void {
  const ids = new Set(found.map(({ id }) => id));
  const missing = wanted.find((id) => !ids.has(id));
  if (missing) throw new AppError('NOT_FOUND', `There is no ${kinds[type].noun} ${missing}`);
}

interface Contents {
  roots: readonly TenantAsset[];
  follow: ReadonlySet<BundledType>;
  withFolders: boolean;
}

async function bundleOf(
  { em, tenantID, visible }: Source,
  reading: Reading,
  { roots, follow, withFolders }: Contents,
): Promise<Omit<z.input<typeof Exported>, 'message'>> {
  const collected = await collect(reading, roots, { follow, visible, withFolders });
  if (collected.size === 0) throw new AppError('NOT_FOUND', 'There is nothing to export');
  const items = await writeItems(em, tenantID, collected, { withFolders });
  const bundle: Bundle = { bundleVersion: 1, generator: 'gantry', sourceTenant: tenantID, items };
  return { bundle, unfollowed: unfollowedIn(items) };
}

/** The templates that name assets, of which the bundle holds no variable with an id. */
function unfollowedIn(items: readonly BundleItem[]): z.input<typeof Exported>['unfollowed'] {
  const variables = new Map(items.filter(({ type }) => type === 'variable').map((item) => [item.payload.name, item]));
  return items.flatMap(({ type, id, payload }) =>
    unfollowed(templatedIDs(type, payload), variables).map((one) => ({ id, ...presentUnfollowed(one) })),
  );
}

/** Exports one asset with all that it needs, but for its folder. */
function exportOne<T extends BundledType>(
  type: T,
  { name, path, param, permission }: { name: string; path: string; param: string; permission: Permission },
): ApiRoute {
  const { noun, resource } = kinds[type];
  const article = /^[aeiou]/.test(noun) ? 'an' : 'a';
  return tenantRoute({
    name,
    method: 'get',
    path: `${path}/:${param}/export`,
    summary: `Export ${article} ${noun}`,
    description: `Returns ${article} ${noun} with all that it needs as a bundle, without secrets. What the caller may not read is named only.`,
    permission,
    object: ({ params }) => `${resource}:${params[param]}`,
    params: z.object({ [param]: idOf(type) }),
    response: Exported,
    errors: ['413'],

    async handle({ params, em, tenantID, visible }) {
      const reading: Reading = { em, bytes: 0 };
      const roots = await readAssets(reading, type, [String(params[param])]);
      if (roots.length === 0) throw new AppError('NOT_FOUND', `There is no such ${noun}`);
      const contents = { roots, follow: withoutFolders, withFolders: false };
      const exported = await bundleOf({ em, tenantID, visible }, reading, contents);
      return { ...exported, message: `${roots[0]?.title} exported` };
    },
  });
}

export const exportRoutes: readonly ApiRoute[] = [
  exportOne('datasource', {
    name: 'exportDatasource',
    path: '/datasources',
    param: 'datasourceID',
    permission: 'datasource.read',
  }),
  exportOne('dataQuery', {
    name: 'exportQuery',
    path: '/queries',
    param: 'dataQueryID',
    permission: 'dataquery.export',
  }),
  exportOne('workflow', {
    name: 'exportWorkflow',
    path: '/workflows',
    param: 'workflowID',
    permission: 'workflow.export',
  }),
  exportOne('widget', { name: 'exportWidget', path: '/widgets', param: 'widgetID', permission: 'widget.export' }),
  exportOne('listener', {
    name: 'exportListener',
    path: '/listeners',
    param: 'listenerID',
    permission: 'listener.export',
  }),
  exportOne('appPage', { name: 'exportAppPage', path: '/app-pages', param: 'appPageID', permission: 'appPage.export' }),
];
