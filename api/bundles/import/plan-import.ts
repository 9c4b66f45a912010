import { cooperative, runCooperatively } from '#shared/concurrency/cooperative.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Path } from '#shared/core/schema/issues.ts';
import { onEntities } from '#shared/db/query.ts';
import { type BundledType, bundledTypes } from '../assets/bundle-types.ts';
import { comesBefore, inOrder } from '../assets/collect.ts';
import { hashOf } from '../assets/hash.ts';
import { type AssetKey, itemKeyOf, keysOfAssets, keysOfItems } from '../assets/keys.ts';
import { kinds } from '../assets/kinds.ts';
import { type Reading, readAssets, type TenantAsset } from '../assets/read-assets.ts';
import { type Reference, referencesIn, withIDs } from '../assets/references.ts';
import { withMissing } from '../assets/secrets.ts';
import { tablesIn } from '../assets/tables.ts';
import { type TemplatedID, variableReferences } from '../assets/templated-ids.ts';
import type { ImportBody } from '../schemas.ts';
import { missingSecretsOf } from './missing-secrets.ts';
import { warnOfTemplates } from './plan-templates.ts';
import { lacksItsSecret, sameVariables, warnOfVariables } from './plan-variables.ts';
import { type GivenItem, readItems } from './read-items.ts';
import { findOthers, type Others } from './resolve.ts';
import type { Importing } from './run-handler.ts';
import { unknownIn } from './unknown-in-item.ts';

export type Action = 'create' | 'update' | 'unchanged' | 'conflict' | 'skip';

/** An item, and what an import would do with it. */
export interface PlannedItem extends GivenItem {
  action: Action;
  /** The id of the asset in the tenant, also of one that is to be created. */
  assetID: string;
  /** The payload with the ids of the tenant. */
  resolved: JsonObject;
  /** The asset of the tenant as it is now. */
  asset: TenantAsset | undefined;
  /** The asset of the tenant as an export would write it, with only the fields that the item has. */
  before: JsonObject | undefined;
  assetHash: string | undefined;
  itemHash: string;
  /** References of `asset`. */
  assetReferences: readonly Reference[];
  /** The key that an earlier import gave to the asset. */
  known: AssetKey | undefined;
  missing: { type: Reference['type']; id: string }[];
  missingSecrets: Path[];
  warnings: string[];
  /** The fields that name assets by templates and are not remapped. */
  unfollowed: readonly TemplatedID[];
  /** The tables of the tenant's own database that the item needs. */
  tables: readonly string[];
}

export interface Plan {
  /** In the order in which they are saved. */
  items: readonly PlannedItem[];
}

/**
 * Compares a bundle with the tenant. With `locks`, the assets that it would change are locked until the transaction
 * ends.
 */
export async function planImport(importing: Importing, body: ImportBody, { locks }: { locks: boolean }): Promise<Plan> {
  const { em, tenantID } = importing.input;
  const bundleItems = await readItems(body);
  for await (const [index, item] of cooperative(body.bundle.items.entries()))
    importing.input.reportUnknown(unknownIn(item), ['bundle', 'items', index, 'payload']);
  const known = await keysOfItems(onEntities(em), tenantID, bundleItems);
  const reading: Reading = { em, bytes: 0, locks };
  const assets = new Map<string, TenantAsset>();
  for (const type of bundledTypes) {
    const ids = bundleItems.filter((item) => item.type === type).flatMap((item) => candidates(item, known));
    for (const asset of await readAssets(reading, type, [...new Set(ids)].sort())) assets.set(itemKeyOf(asset), asset);
  }
  const variables = await sameVariables(reading, bundleItems);
  const existing = new Map(
    bundleItems.map((item) => [
      itemKeyOf(item),
      assetOf(item, known, assets) ?? (item.type === 'variable' ? variables.get(item.title) : undefined),
    ]),
  );
  const ids = new Map(bundleItems.map((item) => [itemKeyOf(item), existing.get(itemKeyOf(item))?.id ?? newID()]));
  const others = await findOthers(importing.input, { items: bundleItems, inBundle: ids, given: body.ids ?? {} });
  const skipped = findSkipped(bundleItems, { existing, others });

  const planned = new Map<string, PlannedItem>();
  for await (const item of cooperative(bundleItems)) {
    const asset = existing.get(itemKeyOf(item));
    const assetID = ids.get(itemKeyOf(item)) ?? item.id;
    const own = { item, asset, assetID, known: known.get(itemKeyOf(item)) };
    planned.set(assetID, await planItem(importing, own, { ids, others, isSkipped: skipped.has(itemKeyOf(item)) }));
  }
  await compare(importing, planned, ids);
  await warnOfVariables(em, [...planned.values()]);
  warnOfTemplates([...planned.values()]);
  const ordered = new Map(
    [...planned].map(([id, { type, id: key, references }]) => {
      const needed = references.filter((one) => comesBefore(one, type));
      return [id, { type, key, needs: needed.flatMap((one) => ids.get(itemKeyOf(one)) ?? []) }];
    }),
  );
  return { items: inOrder(ordered).flatMap((id) => planned.get(id) ?? []) };
}

type Known = ReadonlyMap<string, AssetKey>;

/**
 * Ids that the asset of an item may have in this tenant: the item's own id, if it was exported here, and the id from an
 * earlier import.
 */
function candidates(item: GivenItem, known: Known): string[] {
  return [item.id, ...(known.get(itemKeyOf(item)) ? [known.get(itemKeyOf(item))?.assetID ?? item.id] : [])];
}

function assetOf(item: GivenItem, known: Known, assets: ReadonlyMap<string, TenantAsset>): TenantAsset | undefined {
  const { type } = item;
  const imported = known.get(itemKeyOf(item));
  return (imported && assets.get(itemKeyOf({ type, id: imported.assetID }))) ?? assets.get(itemKeyOf(item));
}

interface Situation {
  existing: ReadonlyMap<string, TenantAsset | undefined>;
  others: Others;
}

/**
 * Items that cannot be saved: a needed asset is neither in the bundle nor in the tenant, a secret is missing, or they
 * need such an item.
 */
function findSkipped(items: readonly GivenItem[], { existing, others }: Situation): ReadonlySet<string> {
  const itemKeys = new Set(items.map(itemKeyOf));
  const needs = items.flatMap((item) =>
    item.references
      .filter((one) => one.isNeeded && !others.has(itemKeyOf(one)) && !existing.get(itemKeyOf(one)))
      .map((one) => ({ needer: itemKeyOf(item), needed: itemKeyOf(one) })),
  );
  const byNeeded = Map.groupBy(needs, ({ needed }) => needed);
  const skipped = new Set(needs.filter(({ needed }) => !itemKeys.has(needed)).map(({ needer }) => needer));
  for (const item of items) if (lacksItsSecret(item) && !existing.get(itemKeyOf(item))) skipped.add(itemKeyOf(item));
  // The loop also visits the items that it adds to the set.
  for (const itemKey of skipped) for (const { needer } of byNeeded.get(itemKey) ?? []) skipped.add(needer);
  return skipped;
}

interface Own {
  item: GivenItem;
  asset: TenantAsset | undefined;
  assetID: string;
  known: AssetKey | undefined;
}

interface Resolving {
  ids: ReadonlyMap<string, string>;
  others: Others;
  isSkipped: boolean;
}

async function planItem(
  importing: Importing,
  { item, asset, assetID, known }: Own,
  { ids, others, isSkipped }: Resolving,
): Promise<PlannedItem> {
  const idFor = (one: Reference) => ids.get(itemKeyOf(one)) ?? others.get(itemKeyOf(one));
  const absent = item.references.filter((one) => !one.isGuess && idFor(one) === undefined);
  const missing = [...new Map(absent.map(({ type, id }) => [itemKeyOf({ type, id }), { type, id }])).values()];
  const isFiled = !absent.some(({ type, path }) => type === 'folder' && path.length === 1);
  const payload = withIDs(item.payload, item.references, idFor);
  const resolved = isFiled ? payload : { ...payload, ...unfiled(payload) };
  const permissions = resolved.assetPermissions;
  if (Array.isArray(permissions) && missing.length > 0) {
    const removed = new Set(absent.map(({ path }) => path[1]));
    resolved.assetPermissions = permissions.filter((_, at) => !removed.has(at));
  }
  const owner = { item, assetID, isHere: !!asset };
  const ignoresSecrets = isSkipped && item.type !== 'variable';
  const missingSecrets = ignoresSecrets ? [] : await missingSecretsOf(importing, owner);
  const { noun } = kinds[item.type];
  const warnings = [
    ...missing.map(({ type, id }) => `The ${nounOf(type)} ${id} that the ${noun} "${item.title}" names is not here`),
    ...missingSecrets.map((path) => `A secret of the ${noun} "${item.title}" is missing: ${path.join('.')}`),
  ];
  const action = isSkipped ? 'skip' : asset ? 'update' : 'create';
  const hashes = { itemHash: await hashOf(item.payload), assetHash: asset && (await hashOf(asset.payload)) };
  const assetReferences = asset ? await referencesHere(asset, item) : [];
  return {
    ...item,
    ...hashes,
    assetReferences,
    action,
    assetID,
    resolved,
    asset,
    before: undefined,
    known,
    missing,
    missingSecrets,
    warnings,
    unfollowed: [],
    tables: tablesIn(item.type, item.payload),
  };
}

/** References of the asset of an item. A variable holds ids where that of the bundle does. */
async function referencesHere({ type, payload }: TenantAsset, { references }: GivenItem): Promise<Reference[]> {
  if (type !== 'variable') return runCooperatively(referencesIn(type, payload));
  const variable = String(payload.name);
  return variableReferences(
    payload,
    references.map((one) => ({ type: one.type as BundledType, variable, keys: one.path.slice(1) })),
  );
}

function unfiled({ folderID, parentFolderID }: JsonObject): JsonObject {
  return {
    ...(folderID !== undefined && { folderID: null }),
    ...(parentFolderID !== undefined && { parentFolderID: null }),
  };
}

export function nounOf(type: string): string {
  if (type === 'oauthConnection') return 'OAuth connection';
  // Safe: the type of an item or of a reference is one of these.
  return type === 'file' ? 'file' : kinds[type as BundledType].noun;
}

/**
 * Decides for assets that exist whether the import would change them, and whether they were changed here since the last
 * import.
 */
async function compare(
  { input: { em, tenantID } }: Importing,
  planned: ReadonlyMap<string, PlannedItem>,
  ids: ReadonlyMap<string, string>,
): Promise<void> {
  const named = [...planned.values()].flatMap(({ asset, assetReferences }) =>
    asset ? [asset.id, ...assetReferences.map(({ id }) => id)] : [],
  );
  const stored = await keysOfAssets(onEntities(em), tenantID, [...new Set(named)]);
  const inBundle = new Map([...ids].map(([itemKey, id]) => [id, itemKey.slice(itemKey.indexOf(':') + 1)]));
  const keyFor = ({ id }: Reference) => inBundle.get(id) ?? stored.get(id)?.key;
  for await (const item of cooperative(planned.values())) {
    const { asset, known } = item;
    if (!asset || item.action === 'skip') continue;
    const shown = withIDs(withMissing(asset.payload, known?.missingSecrets), item.assetReferences, keyFor);
    item.before = Object.fromEntries(Object.keys(item.payload).map((field) => [field, shown[field] ?? null]));
    keepSuffix(item);
    item.action = await actionOf(item);
  }
}

/** A listener keeps the suffix that its path got in an earlier import because the path was taken. */
function keepSuffix(item: PlannedItem): void {
  const [here, wanted] = [item.asset?.payload.endpointPath, item.payload.endpointPath];
  if (typeof here !== 'string' || typeof wanted !== 'string' || !here.startsWith(`${wanted}-`)) return;
  if (!/^\d+$/.test(here.slice(wanted.length + 1))) return;
  item.payload = { ...item.payload, endpointPath: here };
  item.resolved = { ...item.resolved, endpointPath: here };
}

async function actionOf(item: PlannedItem): Promise<Action> {
  const { known, itemHash, assetHash, before, payload, secrets } = item;
  const isAsImported = known?.assetHash === assetHash;
  if (secrets.length > 0) return 'update';
  if (known && isAsImported && known.itemHash === itemHash) return 'unchanged';
  if (before && (await hashOf(before)) === (await hashOf(payload))) return 'unchanged';
  // A variable of the tenant that merely has the same name: its present value may be the right one.
  if (!known && item.type === 'variable' && item.asset?.id !== item.id) return 'conflict';
  return known && !isAsImported ? 'conflict' : 'update';
}
