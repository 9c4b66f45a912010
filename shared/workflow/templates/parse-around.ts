import type { z } from 'zod';
import type { Issue } from '../../core/schema/issues.ts';
import { parseValue } from '../../core/schema/parse.ts';
import { findTemplate } from './templates.ts';

interface Around {
  /** A valid value of the schema, whose parts stand in for templates. */
  defaultValue: unknown;
  /** Top-level fields whose templates are not replaced. */
  raw?: readonly string[] | undefined;
}

export interface ParsedAround {
  value: unknown;
  issues: Issue[];
}

/**
 * Parses a saved config by its schema, but accepts a template in place of a value of any type: the value is parsed when the template is filled
 * in. Here a part of the default value stands in for each such template, so that the rest is checked and gets its defaults.
 */
export function parseAround(schema: z.ZodType, saved: unknown, { defaultValue, raw = [] }: Around): ParsedAround {
  const strict = parseValue(schema, saved);
  if (strict.success) return { value: strict.data, issues: [] };

  const { issues } = strict;
  const isAtTemplate = ({ path }: Issue) => isTemplate(valueAt(saved, path)) && !raw.includes(String(path[0]));
  const wrong = issues.filter((issue) => !isAtTemplate(issue));
  if (wrong.length > 0) return { value: undefined, issues: wrong };

  const standIn = structuredClone(saved);
  for (const { path } of issues) putAt(standIn, path, valueAt(defaultValue, path));
  const lenient = parseValue(schema, standIn);
  const value = lenient.success ? lenient.data : standIn;
  for (const { path } of issues) putAt(value, path, valueAt(saved, path));
  return { value, issues: lenient.success ? [] : lenient.issues.filter((issue) => !isAtTemplate(issue)) };
}

/** Whether a text is one template and nothing else. It then becomes the value with its type. */
export function isTemplate(value: unknown): boolean {
  return typeof value === 'string' && Boolean(findTemplate(value)?.whole);
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

function putAt(value: unknown, path: readonly (string | number)[], child: unknown): void {
  const parent = valueAt(value, path.slice(0, -1));
  const key = path.at(-1);
  if (typeof parent === 'object' && parent !== null && key !== undefined) Reflect.set(parent, key, child);
}
