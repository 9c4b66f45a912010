import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import type { Path } from '#shared/core/schema/issues.ts';
import { findNodeKind } from '#shared/workflow/nodes/index.ts';
import { templatedAssets } from '#shared/workflow/nodes/named-assets.ts';
import { findTemplate, textsOf } from '#shared/workflow/templates/templates.ts';
import { VARIABLES_ROOT } from '#shared/workflow/variables.ts';
import { type BundledType, isBundled } from './bundle-types.ts';
import { type Reference, typeOfResource } from './references.ts';

/** A field that names an asset by a template. */
export interface TemplatedID {
  type: BundledType;
  path: Path;
  template: string;
  /** The place in a variable that the template reads; null if it reads something else, which only a run knows. */
  source: VariablePath | null;
}

/** A place in a variable whose value is the id of an asset. */
export interface VariablePath {
  type: BundledType;
  variable: string;
  /** Path inside of the value. */
  keys: Path;
}

/** The fields of a workflow that name assets by templates. */
export function templatedIDs(type: BundledType, { workflowNodes }: JsonObject): TemplatedID[] {
  if (type !== 'workflow' || !Array.isArray(workflowNodes)) return [];
  return workflowNodes.flatMap((node, index) => {
    const { type: kind, data } = isJsonObject(node) ? node : {};
    const definition = typeof kind === 'string' ? findNodeKind(kind) : undefined;
    if (!definition) return [];
    return templatedAssets(definition, data).flatMap(({ type: resource, path, text }) => {
      const named = typeOfResource[resource];
      if (!named) return [];
      const at = ['workflowNodes', index, 'data', ...path];
      return [{ type: named, path: at, template: text, source: variablePathOf(text, named) }];
    });
  });
}

function variablePathOf(text: string, type: BundledType): VariablePath | null {
  const whole = findTemplate(text.trim())?.whole;
  if (whole?.fault !== null || whole.root !== VARIABLES_ROOT) return null;
  const [variable, ...keys] = whole.keys;
  return variable === undefined ? null : { type, variable: String(variable), keys };
}

/** Places of variables that hold ids, by the names of the variables. */
export class VariablePaths {
  readonly #byVariable = new Map<string, Map<string, VariablePath>>();

  /** Adds the places. Returns the variables that have further ones now. */
  add(paths: Iterable<VariablePath>): string[] {
    const changed = new Set<string>();
    for (const one of paths) {
      const known = this.#byVariable.get(one.variable) ?? new Map<string, VariablePath>();
      this.#byVariable.set(one.variable, known);
      const key = JSON.stringify(one.keys);
      if (!known.has(key)) changed.add(one.variable);
      if (!known.has(key)) known.set(key, one);
    }
    return [...changed];
  }

  of(variable: unknown): Iterable<VariablePath> {
    return this.#byVariable.get(String(variable))?.values() ?? [];
  }
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The assets that a variable names, in the places that workflows read as ids. */
export function variableReferences({ name, value, isSecret }: JsonObject, paths: Iterable<VariablePath>): Reference[] {
  const found = new Map<string, Reference>();
  for (const { type, variable, keys } of isSecret === true ? [] : paths) {
    const id = variable === name ? valueAt(value, keys) : undefined;
    const path = ['value', ...keys];
    if (typeof id === 'string' && UUID.test(id))
      found.set(JSON.stringify(path), { type, id: id.toLowerCase(), path, isNeeded: false });
  }
  return [...found.values()];
}

function valueAt(value: Json | undefined, keys: Path): unknown {
  return keys.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined),
    value,
  );
}

/** The places of a variable that an export has found to name assets: it lists these assets as dependencies. */
export function pathsOfDependencies(
  { name, value }: JsonObject,
  dependencies: readonly { type: string; id: string }[],
): VariablePath[] {
  const typeOf = new Map(dependencies.map(({ type, id }) => [id.toLowerCase(), type]));
  if (typeOf.size === 0) return [];
  return textsOf({ value: value ?? null }).flatMap(({ path: [, ...keys], text }) => {
    const type = typeOf.get(text.toLowerCase());
    return type !== undefined && isBundled(type) ? [{ type, variable: String(name), keys }] : [];
  });
}

/**
 * The fields of workflows whose assets a bundle cannot know, for the person who imports it. `variables`: those of the bundle, by their
 * names; a field whose variable has an id there is followed.
 */
export function unfollowed(
  all: readonly TemplatedID[],
  variables: ReadonlyMap<unknown, { payload: JsonObject }>,
): TemplatedID[] {
  return all.filter(({ source }) => {
    const variable = source && variables.get(source.variable);
    return !variable || variableReferences(variable.payload, [source]).length === 0;
  });
}

export function presentUnfollowed({ type, path, template, source }: TemplatedID) {
  return { type, path: [...path], template, variable: source?.variable ?? null };
}
