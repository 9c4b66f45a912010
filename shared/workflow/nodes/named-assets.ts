import { z } from 'zod';
import { objectType, type Permission, type Resource, splitPermission } from '../../access/policy/permissions.ts';
import { hasBraces } from '../templates/expressions.ts';
import { type AnyNode, nodes } from './index.ts';
import type { Naming } from './names.ts';

/** An asset that a node's config names. */
export interface NamedAsset {
  readonly type: NamedResource;
  /** The id in lower case, as rows and permission rules store it. */
  readonly id: string;
  /** Path of the field inside the config. */
  readonly path: readonly (string | number)[];
  readonly permission: Permission;
  readonly neededBy: Naming['neededBy'];
}

/** The types of assets that some node kind names. */
export type NamedResource = ResourceOf<NamingsOf<AnyNode['names']>['permission']>;

type NamingsOf<Names> = Names extends unknown ? Names[keyof Names] & Naming : never;
type ResourceOf<P extends Permission> = P extends `${infer R extends Resource}.${string}` ? R : never;

/** Names of the types in messages. */
export const assetWords: Readonly<Record<NamedResource, string>> = { dataquery: 'data query', workflow: 'workflow' };

/**
 * The assets that a config names, as it was saved or with its templates resolved. Templates in a saved config, and values that are
 * no ids, are skipped.
 */
export function namedAssets(definition: AnyNode, config: unknown): NamedAsset[] {
  return namingsOf(definition).flatMap(({ keys, type, permission, neededBy }) =>
    valuesAt(config, keys).flatMap(({ path, value }) => {
      const id = AssetID.safeParse(value).data;
      return id === undefined ? [] : [{ type, id, path, permission, neededBy }];
    }),
  );
}

/** The fields that name assets by templates. */
export function templatedAssets(
  definition: AnyNode,
  config: unknown,
): (Pick<NamedAsset, 'type' | 'path'> & { text: string })[] {
  return namingsOf(definition).flatMap(({ keys, type }) =>
    valuesAt(config, keys).flatMap(({ path, value }) =>
      typeof value === 'string' && hasBraces(value) ? [{ type, path, text: value }] : [],
    ),
  );
}

const AssetID = z.uuid().toLowerCase();

/** Every field of every kind that names an asset of this type; `*` is each element of a list. */
export function fieldsNaming(wanted: NamedResource): { kind: string; keys: readonly string[] }[] {
  return nodes.flatMap((definition) => {
    const namings = namingsOf(definition).filter(({ type }) => type === wanted);
    return namings.map(({ keys }) => ({ kind: definition.kind, keys }));
  });
}

interface KindNaming extends Naming {
  readonly keys: readonly string[];
  readonly type: NamedResource;
}

const byDefinition: ReadonlyMap<AnyNode, readonly KindNaming[]> = new Map(
  nodes.map((definition) => {
    const names: Readonly<Record<string, Naming>> = definition.names;
    const namings = Object.entries(names).map(([path, naming]): KindNaming => {
      const [resource] = splitPermission(naming.permission);
      // Safe: `NamedResource` is derived from the permissions that kinds name.
      return { ...naming, keys: path.split('.'), type: objectType(resource) as NamedResource };
    });
    return [definition, namings];
  }),
);

function namingsOf(definition: AnyNode): readonly KindNaming[] {
  return byDefinition.get(definition) ?? [];
}

interface Found {
  path: (string | number)[];
  value: unknown;
}

/** The values at a path with their own paths: several if the path has a `*`, which is each element of a list. */
function valuesAt(value: unknown, [key, ...rest]: readonly string[]): Found[] {
  if (key === undefined) return [{ path: [], value }];
  return childrenAt(value, key).flatMap(([part, child]) =>
    valuesAt(child, rest).map((found) => ({ ...found, path: [part, ...found.path] })),
  );
}

function childrenAt(value: unknown, key: string): [string | number, unknown][] {
  if (key === '*') return Array.isArray(value) ? [...value.entries()] : [];
  const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
  return isThere ? [[key, Reflect.get(value, key)]] : [];
}
