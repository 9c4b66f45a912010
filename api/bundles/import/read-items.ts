import { cooperative, runCooperatively } from '#shared/concurrency/cooperative.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import { quote } from '#shared/core/quote.ts';
import { type Issue, invalid } from '#shared/core/schema/issues.ts';
import { MASK, maskSecrets } from '#shared/core/schema/secret.ts';
import { findDatasourceType } from '#shared/datasources/types/index.ts';
import type { BundledType } from '../assets/bundle-types.ts';
import { itemKeyOf } from '../assets/keys.ts';
import { kinds } from '../assets/kinds.ts';
import { type Reference, referencesIn } from '../assets/references.ts';
import {
  pathsOfDependencies,
  type TemplatedID,
  templatedIDs,
  type VariablePath,
  VariablePaths,
  variableReferences,
} from '../assets/templated-ids.ts';
import type { BundleItem, ImportBody } from '../schemas.ts';

/** An item as the bundle has it. */
export interface GivenItem {
  /** The position in the bundle. */
  index: number;
  type: BundledType;
  /** The key of the item, which is the same in every tenant. */
  id: string;
  title: string;
  /** The asset, with masked secrets. */
  payload: JsonObject;
  references: readonly Reference[];
  /** The fields that name assets by templates. */
  templated: readonly TemplatedID[];
  /** Secrets of the item that the request brings, by their paths in the payload. */
  secrets: readonly { path: readonly (string | number)[]; value: Json }[];
}

/** Types whose items have secrets. */
const holders: ReadonlySet<BundledType> = new Set(['datasource', 'variable']);

/** The most references that the items of a bundle may name together. */
const MAX_NAMED = 20_000;

/** Reads the items, or throws all of their faults. */
export async function readItems({ bundle, secrets = [] }: ImportBody): Promise<GivenItem[]> {
  const issues: Issue[] = [];
  const itemKeys = new Set<string>();
  const items: GivenItem[] = [];
  let named = 0;
  const paths = new VariablePaths();
  for await (const [index, { type, id, payload: unmasked, dependencies = [] }] of cooperative(bundle.items.entries())) {
    const at = ['bundle', 'items', index];
    const title = titleOf(type, unmasked, (message) =>
      issues.push({ path: [...at, 'payload', kinds[type].title], message }),
    );
    if (itemKeys.has(itemKeyOf({ type, id })))
      issues.push({ path: [...at, 'id'], message: 'another item of this type has this id' });
    itemKeys.add(itemKeyOf({ type, id }));
    const payload = masked(type, unmasked);
    const own = holders.has(type) ? secrets.filter((one) => one.id === id) : [];
    const references = await runCooperatively(referencesIn(type, payload));
    named += references.length;
    if (named > MAX_NAMED)
      throw invalid([{ path: [...at, 'payload'], message: `a bundle names other assets ${MAX_NAMED} times at most` }]);
    const templated = templatedIDs(type, payload);
    paths.add(pathsIn(type, { payload, dependencies, templated }));
    items.push({ index, type, id, title, payload, references, templated, secrets: own });
  }
  for (const item of items.filter(({ type }) => type === 'variable'))
    item.references = variableReferences(item.payload, paths.of(item.payload.name));
  issues.push(...faultsOf(secrets, items));
  if (issues.length > 0) throw invalid(issues);
  return items;
}

/** The places of variables that an item shows to hold ids: a workflow by its templates, a variable by its dependencies. */
function pathsIn(
  type: BundledType,
  { payload, dependencies, templated }: Pick<GivenItem, 'payload' | 'templated'> & { dependencies: Dependencies },
): VariablePath[] {
  if (type === 'variable') return pathsOfDependencies(payload, dependencies);
  return templated.flatMap(({ source }) => source ?? []);
}

type Dependencies = NonNullable<BundleItem['dependencies']>;

/** Takes the title of an item, or notes that it has none. */
function titleOf(type: BundledType, payload: JsonObject, note: (message: string) => void): string {
  const title = payload[kinds[type].title];
  if (typeof title !== 'string' || title === '')
    note(`expected a text, received ${title === undefined ? 'nothing' : quote(title)}`);
  return String(title);
}

function faultsOf(secrets: NonNullable<ImportBody['secrets']>, items: readonly GivenItem[]): Issue[] {
  const ownerIDs = new Set(items.filter(({ type }) => holders.has(type)).map(({ id }) => id));
  const message = 'there is no datasource or variable with this id in the bundle';
  return secrets.flatMap(({ id }, index) => (ownerIDs.has(id) ? [] : [{ path: ['secrets', index, 'id'], message }]));
}

/**
 * A bundle brings no secrets: those that a person has written into it are masked. It offers nothing to models either, since the owners
 * of this tenant decide that.
 */
function masked(type: BundledType, { isOfferedAsTool: _ofAnother, ...payload }: JsonObject): JsonObject {
  if (type === 'variable' && payload.isSecret === true) return { ...payload, value: MASK };
  if (type !== 'datasource') return payload;
  const { datasourceType, datasourceOptions } = payload;
  const definition = typeof datasourceType === 'string' ? findDatasourceType(datasourceType) : undefined;
  if (!definition || !isJsonObject(datasourceOptions)) return payload;
  return { ...payload, datasourceOptions: maskSecrets(definition.options, datasourceOptions) };
}

/** The payload of an item with the secrets that the request brings in the places of masks. */
export function withSecrets(payload: JsonObject, secrets: GivenItem['secrets']): JsonObject {
  if (secrets.length === 0) return payload;
  const copy = structuredClone(payload);
  for (const { path, value } of secrets) {
    const last = path.at(-1);
    const parent = path.slice(0, -1).reduce<unknown>((at, key) => partOf(at, key), copy);
    if (last === undefined || partOf(parent, last) !== MASK)
      throw invalid([{ path: ['secrets'], message: `there is no secret at ${path.join('.')}` }]);
    Reflect.set(parent as object, last, value);
  }
  return copy;
}

function partOf(value: unknown, key: string | number): unknown {
  const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
  return isThere ? Reflect.get(value, key) : undefined;
}
