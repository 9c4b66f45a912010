import type { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import { requireValue } from '../core/schema/parse.ts';
import type { GraphNode } from './graph/graph.ts';
import { isSpread } from './nodes/properties.ts';
import { isReservedKey } from './reserved.ts';
import { evaluateIn, hasBraces, type Roots, type Template } from './templates/expressions.ts';
import { createFilling, fillParts, findTemplate, textsOf } from './templates/templates.ts';

/**
 * Resolves the templates of a node's config and parses it by the kind's schema, for the executor.
 * Without templates this is the config parsed with the graph, which all runs share: it must not be changed.
 */
export function resolveConfig(node: GraphNode, scope: JsonObject, more: Roots = {}): unknown {
  if (!node.hasTemplates) return node.config;

  const schema: z.ZodType = node.definition.config;
  return requireValue(schema, resolveTemplates(node.data, scope, { raw: node.definition.raw, more }));
}

export interface ResolveOptions {
  /** The root of the paths into `scope`. */
  root?: string | undefined;
  /** Values under other first names of paths than `root`, such as the `vars` of `{{vars.day}}`. */
  more?: Roots;
  /** Top-level fields that are not resolved. */
  raw?: readonly string[] | undefined;
}

/**
 * Replaces every `{{path}}` in a value. A text that is one template becomes the value with its type, null if there is none; in
 * other texts values are converted to text. Inserted values are not searched for templates.
 */
export function resolveTemplates(value: Json, scope: JsonObject, options: ResolveOptions = {}): Json {
  const { root = 'ctx', raw = [], more = {} } = options;
  const values: Values = { roots: { ...more, [root]: scope }, filling: createFilling() };
  if (raw.length === 0 || !isJsonObject(value)) return resolve(value, values);

  const resolved: JsonObject = { ...value };
  for (const key of Object.keys(value)) {
    if (!raw.includes(key)) resolved[key] = resolve(value[key] ?? null, values);
  }
  return resolved;
}

interface Values {
  roots: Roots;
  filling: ReturnType<typeof createFilling>;
}

/** Parts without templates are returned as they are, so that a large literal costs nothing. */
function resolve(value: Json, values: Values): Json {
  if (typeof value === 'string') {
    const template = findTemplate(value);
    return template ? fill(template, values) : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value) ? resolveList(value, values) : resolveObject(value, values);
}

function resolveList(list: Json[], values: Values): Json {
  const resolved = list.map((item) => resolve(item, values));
  return resolved.every((item, index) => item === list[index]) ? list : resolved;
}

function resolveObject(object: JsonObject, values: Values): Json {
  let resolved = object;
  for (const key of Object.keys(object)) {
    const before = object[key] ?? null;
    const after = resolve(before, values);
    if (after === before) continue;
    // The spread makes every key an own property first, so that assigning to "__proto__" cannot reach the prototype.
    if (resolved === object) resolved = { ...object };
    resolved[key] = after;
  }
  return resolved;
}

function fill({ parts, whole }: Template, { roots, filling }: Values): Json {
  if (!whole) return fillParts(parts, (expression) => evaluateIn(expression, roots));
  const value = evaluateIn(whole, roots) ?? null;
  filling.count(value);
  return value;
}

export function hasTemplate(value: Json, raw?: readonly string[]): boolean {
  return textsOf(value, raw, hasBraces).some(({ template }) => template);
}

/** The result of a node for its iteration: the value that later nodes see, else the whole output. */
export function resultOf({ definition, config }: GraphNode, output: JsonObject | null): Json {
  if (!output) return null;
  if (definition.ends) return output.workflowOutput ?? null;
  const name = isJsonObject(config) ? config.outputVariable : undefined;
  return typeof name === 'string' && Object.hasOwn(output, name) ? (output[name] ?? null) : output;
}

/** The keys that a node's output adds to `ctx`, or null if it adds none. Reserved keys are never written. */
export function contextPatch(
  node: Pick<GraphNode, 'definition'>,
  config: unknown,
  output: JsonObject,
): JsonObject | null {
  const name = isJsonObject(config) ? config.outputVariable : undefined;
  if (typeof name !== 'string' || !Object.hasOwn(output, name)) return null;

  const value = output[name] ?? null;
  const patch: JsonObject = {};
  if (isJsonObject(value) && isSpread(node.definition, config)) {
    for (const key of Object.keys(value)) if (!isReservedKey(key)) patch[key] = value[key] ?? null;
  }
  if (!isReservedKey(name)) patch[name] = value;
  return Object.keys(patch).length > 0 ? patch : null;
}
