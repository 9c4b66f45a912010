import { AppError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { templatesOf } from '#shared/workflow/graph/variable-uses.ts';
import type { AnyNode } from '#shared/workflow/nodes/index.ts';
import { evaluate, expressionsOf, type Template } from '#shared/workflow/templates/expressions.ts';
import { fillParts } from '#shared/workflow/templates/templates.ts';

/** Why a text of the settings is not, or not exactly, what the step worked with. */
export const doubts = ['notKept', 'omitted', 'tooLong', 'plain'] as const;
export type Doubt = (typeof doubts)[number];

export interface FilledSettings {
  /**
   * The settings, with values in the place of templates. A doubtful text stays as it was written, unless the doubt is
   * `plain`.
   */
  settings: JsonObject;
  doubts: { path: (string | number)[]; reason: Doubt }[];
}

/** `ctx` as far as it is known. */
export interface KnownContext {
  values: JsonObject;
  /** Whether a key of `ctx` has a value that is not here; without a key, whether any has. */
  isMissing(key: string | undefined): boolean;
}

/**
 * Fills the templates of a node's settings from `ctx`, as the engine does. `maxLength`: of all values together, as JSON
 * text.
 */
export function fillSettings(
  definition: AnyNode,
  data: JsonObject,
  { maxLength, ...known }: KnownContext & { maxLength: number },
): FilledSettings {
  const { raw = [] }: { raw?: readonly string[] } = definition;
  const capacity = new TextCapacity(maxLength);
  // A copy has every key as its own property, so that a path cannot reach a prototype.
  const filled: FilledSettings = { settings: structuredClone(data), doubts: [] };
  for (const { path, template } of templatesOf(definition, data)) {
    if (!template) continue;
    const found = fill(template, known, capacity);
    if ('reason' in found) filled.doubts.push({ path, reason: found.reason });
    else put(filled.settings, path, found.value);
    // The executor escapes or marks values in these texts, so what it used differs from the plain text; inside of lists
    // and objects it does not.
    const isPlain = path.length === 1 && raw.includes(String(path[0]));
    if ('value' in found && isPlain) filled.doubts.push({ path, reason: 'plain' });
  }
  return filled;
}

function fill(
  template: Template,
  { values, isMissing }: KnownContext,
  capacity: TextCapacity,
): { value: Json } | { reason: Doubt } {
  for (const { root, keys, fault } of expressionsOf(template)) {
    if (fault !== null) continue;
    // The values of variables, and links, are not kept with a run.
    if (root !== 'ctx') return { reason: 'notKept' };
    if (isMissing(keys[0]?.toString())) return { reason: 'omitted' };
  }
  if (capacity.isUsedUp) return { reason: 'tooLong' };
  const value = filledFrom(template, values);
  return value !== undefined && capacity.take(value) ? { value } : { reason: 'tooLong' };
}

/** The value of a template; undefined if it is longer than the engine inserts. */
function filledFrom({ whole, parts }: Template, values: JsonObject): Json | undefined {
  if (whole) return evaluate(whole, values, 'ctx') ?? null;
  try {
    return fillParts(parts, (expression) => evaluate(expression, values, 'ctx'));
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/**
 * Limits the length of the values in an answer. Values that do not fit are measured too, so the measured length has a
 * limit as well.
 */
class TextCapacity {
  #remaining: number;
  #measurable: number;
  readonly #lengths = new Map<Json, number>();

  constructor(length: number) {
    this.#remaining = length;
    this.#measurable = 8 * length;
  }

  get isUsedUp(): boolean {
    return this.#measurable <= 0;
  }

  take(value: Json): boolean {
    const length = this.#lengthOf(value);
    if (length > this.#remaining) return false;
    this.#remaining -= length;
    return true;
  }

  #lengthOf(value: Json): number {
    if (typeof value !== 'object' || value === null) {
      const { length } = String(value);
      this.#measurable -= length;
      return length;
    }
    const known = this.#lengths.get(value);
    const length = known ?? JSON.stringify(value).length;
    if (known === undefined) this.#measurable -= length;
    this.#lengths.set(value, length);
    return length;
  }
}

function put(settings: JsonObject, path: readonly (string | number)[], value: Json): void {
  let at: Json = settings;
  for (const key of path.slice(0, -1)) at = (at as JsonObject)[key] ?? null;
  (at as JsonObject)[path.at(-1) ?? ''] = value;
}
