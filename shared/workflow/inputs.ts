import { z } from 'zod';
import { numberIn } from '../core/exact-number.ts';
import { isJsonObject, Json, type JsonObject } from '../core/json.ts';
import { readJSON } from '../core/lossless-json.ts';
import { looseObject } from '../core/record.ts';
import { type Issue, invalid } from '../core/schema/issues.ts';
import { mismatch } from '../core/schema/parse.ts';
import { readBy } from '../core/schema/walk.ts';
import { isUnreadable } from './reserved.ts';

/**
 * Applies definitions to values: default, then type, then whether one is missing. Without definitions all values pass.
 * An explicit null does not count as missing, so that resolving resolved values again changes nothing.
 */
export function resolveInputs(
  definitions: readonly InputDefinition[],
  values: JsonObject,
  { field }: { field: string },
): JsonObject {
  if (definitions.length === 0) return values;

  const issues: Issue[] = [];
  const resolved: [string, Json][] = [];
  for (const definition of definitions) {
    const { key } = definition;
    const path = [field, key];
    const isGiven = Object.hasOwn(values, key);
    const given = isGiven ? (values[key] ?? null) : defaultOf(definition);
    const value = coerce(definition, given);
    if (value === undefined) issues.push({ path, message: mismatchOf(definition, { given, isGiven, path }) });
    else if (value === null && definition.required) issues.push({ path, message: 'is required' });
    else resolved.push([key, value]);
  }
  if (issues.length > 0) throw invalid(issues);
  return Object.fromEntries(resolved);
}

/** Faults of definitions: names that templates cannot read, and defaults that do not fit their type. Paths begin at the list. */
export function definitionIssues(definitions: readonly InputDefinition[]): Issue[] {
  return definitions.flatMap((definition, at) => {
    if (isUnreadable(definition.key)) return [{ path: [at, 'key'], message: 'is a reserved name' }];
    const value = defaultOf(definition);
    if (coerce(definition, value) !== undefined) return [];
    const path = [at, definition.default == null ? 'defaultValue' : 'default'];
    return [{ path, message: mismatch(wanted[definition.type ?? 'string'], value, path) }];
  });
}

function mismatchOf(
  { type = 'string' }: InputDefinition,
  { given, isGiven, path }: { given: Json; isGiven: boolean; path: string[] },
): string {
  const message = mismatch(wanted[type], given, path);
  return isGiven ? message : `the declared default does not fit: ${message}`;
}

const InputType = z.enum(['string', 'number', 'boolean', 'object', 'array']);
type InputType = z.infer<typeof InputType>;

const definition = {
  key: z.string().min(1).max(255).meta({ title: 'Name', description: 'By which the value is given and read' }),
  type: InputType.optional().meta({ title: 'Type', description: 'What values are converted to. Empty: not converted' }),
  required: z.boolean().default(false).meta({ title: 'Required', description: 'A call without the value is refused' }),
  default: Json.optional().meta({
    title: 'Default value',
    description: 'Taken if a call does not give the value. Empty: the value is then null',
  }),
  defaultValue: Json.optional().meta({
    ...{ title: 'Default (other name)', description: 'Read if `default` is not set' },
    deprecated: true,
  }),
};
/** Text and layout that the admin UI shows beside an input. */
const shown = { title: z.unknown(), label: z.unknown(), description: z.unknown(), placeholder: z.unknown() };
const read = z.object({ ...definition, ...shown });
/** A declared input of a workflow or a query, stored whole. Without a type the value is not converted. */
export const InputDefinition = readBy(looseObject(definition), () => read);
export type InputDefinition = z.infer<typeof InputDefinition>;

function defaultOf(definition: InputDefinition): Json {
  return definition.default ?? definition.defaultValue ?? null;
}

const wanted: Readonly<Record<InputType, string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object, or one as JSON text',
  array: 'a list, or one as JSON text',
};

/** Converts a value to its declared type; null if it is empty, undefined if it cannot be converted. */
function coerce({ type }: InputDefinition, value: Json): Json | undefined {
  if (value === null || type === undefined) return value;
  if (type === 'string') return toText(value);
  if (type === 'number') return toNumber(value);
  if (type === 'boolean') return toBoolean(value);
  const parsed = typeof value === 'string' ? fromJsonText(value) : value;
  if (parsed === null || parsed === undefined) return parsed;
  return Array.isArray(parsed) === (type === 'array') && typeof parsed === 'object' ? parsed : undefined;
}

function toText(value: Json): string {
  if (typeof value === 'string') return value;
  return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
}

/** Converts a value to a number. If a double does not hold the number, it stays a text, as in responses. */
function toNumber(value: Json): number | string | null | undefined {
  if (typeof value !== 'string') return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
  return value.trim() === '' ? null : numberIn(value);
}

const truths: ReadonlyMap<Json, boolean> = new Map<Json, boolean>([
  [true, true],
  [false, false],
  [1, true],
  [0, false],
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
  ['', false],
]);

function toBoolean(value: Json): boolean | undefined {
  return truths.get(typeof value === 'string' ? value.trim().toLowerCase() : value);
}

function fromJsonText(text: string): Json | undefined {
  if (text.trim() === '') return null;
  try {
    return readJSON(text);
  } catch {
    return undefined;
  }
}
