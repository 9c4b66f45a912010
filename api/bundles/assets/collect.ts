import type { Permission } from '#shared/access/policy/permissions.ts';
import { cooperative, runCooperatively } from '#shared/concurrency/cooperative.ts';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { TenantVariable } from '#shared/entities/tables/tenant-variable.ts';
import type { Condition } from '../../tenant/visible-rows.ts';
import { type BundledType, bundledTypes } from './bundle-types.ts';
import { kinds } from './kinds.ts';
import { readers } from './payloads.ts';
import { MAX_ITEMS, type Reading, readAssets, type TenantAsset } from './read-assets.ts';
import { type Reference, referencesIn } from './references.ts';
import { templatedIDs, VariablePaths, variableReferences } from './templated-ids.ts';
import { variablesNamedIn } from './variable-uses.ts';

export interface Collected extends TenantAsset {
  references: readonly Reference[];
}

interface Following {
  /** The types whose assets are added when another one names them. */
  follow: ReadonlySet<BundledType>;
  visible(permission: Permission): Promise<Condition>;
  withFolders: boolean;
}

/** Reads assets and, step by step, the assets that they name and the caller may read; by their ids. */
export async function collect(
  reading: Reading,
  roots: readonly TenantAsset[],
  { follow, visible, withFolders }: Following,
): Promise<ReadonlyMap<string, Collected>> {
  const found = new Map<string, Collected>();
  const paths = new VariablePaths();
  const variablesByName = new Map<unknown, Collected>();
  for (let next = roots; next.length > 0; ) {
    const named: Reference[] = [];
    const variables = await variablesOf(reading.em, next);
    for await (const asset of cooperative(next)) {
      const all = [...(await runCooperatively(referencesIn(asset.type, asset.payload))), ...variables(asset)];
      const references = all.filter(({ type }) => type !== 'folder' || withFolders);
      found.set(asset.id, { ...asset, references });
      for (const one of references) if (!one.isGuess) named.push(one);
    }
    named.push(...referencesOfVariables(next));
    if (found.size > MAX_ITEMS) throw tooMany();
    next = await readNamed(named.filter(({ id }) => !found.has(id)));
  }
  return found;

  /** Follows the ids that variables hold, as far as the workflows by now say that they hold ids, and of what. */
  function referencesOfVariables(added: readonly TenantAsset[]): Reference[] {
    const names = new Set<unknown>();
    for (const { id, type, payload } of added) {
      for (const name of paths.add(templatedIDs(type, payload).flatMap((one) => one.source ?? []))) names.add(name);
      const variable = type === 'variable' ? found.get(id) : undefined;
      if (variable) variablesByName.set(payload.name, variable);
      if (variable) names.add(payload.name);
    }
    return [...names].flatMap((name) => {
      const variable = variablesByName.get(name);
      if (!variable) return [];
      variable.references = variableReferences(variable.payload, paths.of(name));
      return variable.references;
    });
  }

  async function readNamed(references: readonly Reference[]): Promise<TenantAsset[]> {
    const assets: TenantAsset[] = [];
    for (const type of bundledTypes) {
      const named = follow.has(type) ? references.filter((one) => one.type === type) : [];
      const ids = await existingIDs(reading.em, type, [...new Set(named.map(({ id }) => id))]);
      if (ids.length > MAX_ITEMS) throw tooMany();
      if (ids.length > 0) assets.push(...(await readAssets(reading, type, ids, await visible(kinds[type].read))));
    }
    return assets;
  }
}

const AT_ONCE = 1_000;

/**
 * Leaves out the ids of deleted assets, of which configs of admin UIs may name many: those must not count as items of
 * the bundle.
 */
async function existingIDs(em: EntityManager, type: BundledType, ids: readonly string[]): Promise<readonly string[]> {
  if (ids.length <= MAX_ITEMS) return ids;
  const existing: string[] = [];
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const which = { id: { $in: ids.slice(from, from + AT_ONCE) } };
    const rows = await em.find(readers[type].entity, which, { fields: ['id'], disableIdentityMap: true });
    existing.push(...rows.map(({ id }) => id));
  }
  return existing;
}

/**
 * References of workflows to variables. They have no path to rewrite: the name of a variable is the same in every
 * tenant.
 */
async function variablesOf(
  em: EntityManager,
  assets: readonly TenantAsset[],
): Promise<(asset: TenantAsset) => Reference[]> {
  const names = new Map<string, readonly string[]>();
  for await (const { type, id, payload } of cooperative(assets))
    if (type === 'workflow') names.set(id, variablesNamedIn(payload));
  const wanted = [...new Set([...names.values()].flat())];
  const rows = wanted.length > 0 ? await em.find(TenantVariable, { name: { $in: wanted } }, { fields: ['name'] }) : [];
  const ids = new Map(rows.map(({ id, name }) => [name, id]));
  return (asset) =>
    (names.get(asset.id) ?? []).flatMap((name) => {
      const id = ids.get(name);
      return id ? [{ type: 'variable' as const, id, path: [], isNeeded: false }] : [];
    });
}

export function tooMany(): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `A bundle holds at most ${MAX_ITEMS} assets: export fewer at once`);
}

/**
 * Whether a named asset comes before the one that names it. A variable comes after what its value names, so that a bundle that is imported in
 * parts gives it the ids of the tenant.
 */
export function comesBefore(named: Reference, type: BundledType): boolean {
  return named.isNeeded || named.type === 'folder' || type === 'variable';
}

interface Ordered {
  type: BundledType;
  /** Orders assets of the same type. */
  key: string;
  /** Ids of the assets that must come before this one. */
  needs: readonly string[];
}

/**
 * Orders assets by their ids: each after those that it needs, then by type and key. A cycle begins with its first asset
 * in that order.
 */
export function inOrder(assets: ReadonlyMap<string, Ordered>): string[] {
  const rank = (id: string) => bundledTypes.indexOf(assets.get(id)?.type ?? 'role');
  const keyOf = (id: string) => assets.get(id)?.key ?? '';
  const compare = (one: string, other: string) => rank(one) - rank(other) || (keyOf(one) < keyOf(other) ? -1 : 1);
  const sorted = [...assets.keys()].sort(compare);
  const entered = new Set<string>();
  const order: string[] = [];
  for (const root of sorted) {
    const stack = [{ id: root, isDone: false }];
    // A stack instead of recursion: chains of needs may be as long as there are assets.
    for (let at = stack.pop(); at; at = stack.pop()) {
      if (at.isDone) order.push(at.id);
      if (at.isDone || entered.has(at.id)) continue;
      entered.add(at.id);
      const needs = (assets.get(at.id)?.needs ?? []).filter((id) => assets.has(id) && !entered.has(id));
      stack.push({ id: at.id, isDone: true });
      for (const id of [...new Set(needs)].sort(compare).reverse()) stack.push({ id, isDone: false });
    }
  }
  return order;
}
