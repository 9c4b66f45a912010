import { z } from 'zod';
import { numberIn } from '../core/exact-number.ts';
import { isJsonObject, Json, type JsonObject } from '../core/json.ts';
import { readJSON } from '../core/lossless-json.ts';
import { quote } from '../core/quote.ts';
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

/** Faults of definitions: names that templates cannot read, choices without options, and defaults that do not fit their type. Paths begin at the list. */
export function definitionIssues(definitions: readonly InputDefinition[]): Issue[] {
  return definitions.flatMap((definition, at) => {
    if (isUnreadable(definition.key)) return [{ path: [at, 'key'], message: 'is a reserved name' }];
    const ofOptions = optionIssues(definition, at);
    if (ofOptions.length > 0) return ofOptions;
    const value = defaultOf(definition);
    if (coerce(definition, value) !== undefined) return [];
    const path = [at, definition.default == null ? 'defaultValue' : 'default'];
    return [{ path, message: mismatch(wantedBy(definition), value, path) }];
  });
}

/** Limit of the options of one choice. */
const MAX_OPTIONS = 500;

function optionIssues({ type, options }: InputDefinition, at: number): Issue[] {
  if (type !== 'choice') return [];
  const isList =
    Array.isArray(options) &&
    options.every((one) => typeof one === 'string' && one !== '') &&
    new Set(options).size === options.length;
  if (isList && options.length > 0 && options.length <= MAX_OPTIONS) return [];
  const path = [at, 'options'];
  return [{ path, message: mismatch(`1 to ${MAX_OPTIONS} different texts that are not empty`, options, path) }];
}

function mismatchOf(
  definition: InputDefinition,
  { given, isGiven, path }: { given: Json; isGiven: boolean; path: string[] },
): string {
  const message = mismatch(wantedBy(definition), given, path);
  return isGiven ? message : `the declared default does not fit: ${message}`;
}

export const InputType = z.enum([
  ...(['string', 'number', 'integer', 'boolean', 'date', 'datetime'] as const),
  ...(['choice', 'array', 'object'] as const),
]);
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
  // Checked where a definition is saved, by `definitionIssues`: those that were saved before may have anything here.
  options: z
    .unknown()
    .optional()
    .meta({ type: 'array', items: { type: 'string' }, title: 'Options', description: 'The texts of a `choice`' }),
};
/** Words that forms show beside an input, and what an id in it names, such as `workflow`. */
const shown = {
  ...{ title: z.unknown(), label: z.unknown(), description: z.unknown(), placeholder: z.unknown() },
  reference: z.unknown(),
};
const read = z.object({ ...definition, ...shown });
/** A declared input of a workflow or a query, stored whole. Without a type the value is not converted. */
export const InputDefinition = readBy(looseObject(definition), () => read);
export type InputDefinition = z.infer<typeof InputDefinition>;

function defaultOf(definition: InputDefinition): Json {
  return definition.default ?? definition.defaultValue ?? null;
}

const wanted: Readonly<Record<Exclude<InputType, 'choice'>, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  date: 'a date such as 2026-01-31',
  datetime: 'a date and a time with its zone, such as 2026-01-31T09:00:00Z',
  object: 'an object, or one as JSON text',
  array: 'a list, or one as JSON text',
};

function wantedBy({ type = 'string', options }: InputDefinition): string {
  if (type !== 'choice') return wanted[type];
  const all = optionsIn(options);
  const more = all.length > NAMED ? `, or another of ${all.length}` : '';
  return `one of ${all
    .slice(0, NAMED)
    .map((one) => quote(one))
    .join(', ')}${more}`;
}

/** Options that a message names. */
const NAMED = 10;

function optionsIn(options: unknown): string[] {
  return Array.isArray(options) ? options.filter((one) => typeof one === 'string') : [];
}

/** Converts a value to its declared type; null if it is empty, undefined if it cannot be converted. */
function coerce({ type, options }: InputDefinition, value: Json): Json | undefined {
  if (value === null || type === undefined) return value;
  return converters[type](value, options);
}

const converters: Readonly<Record<InputType, (value: Json, options: unknown) => Json | undefined>> = {
  string: toText,
  number: toNumber,
  integer: toInteger,
  boolean: toBoolean,
  date: (value) => toFormatted(value, z.iso.date()),
  datetime: (value) => toFormatted(value, z.iso.datetime({ offset: true })),
  choice: toChoice,
  array: (value) => toJSON(value, Array.isArray),
  object: (value) => toJSON(value, isJsonObject),
};

function toJSON(value: Json, fits: (parsed: Json) => boolean): Json | undefined {
  const parsed = typeof value === 'string' ? fromJsonText(value) : value;
  return parsed === null || parsed === undefined || fits(parsed) ? parsed : undefined;
}

function toFormatted(value: Json, format: z.ZodType<string>): string | null | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (text === '') return null;
  return format.safeParse(text).success ? text : undefined;
}

function toChoice(value: Json, options: unknown): string | null | undefined {
  if (value === '') return null;
  const text = toText(value);
  return optionsIn(options).includes(text) ? text : undefined;
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

function toInteger(value: Json): number | string | null | undefined {
  const number = toNumber(value);
  // A text has more digits than a number holds.
  const isWhole = typeof number === 'string' ? /^[+-]?\d+$/.test(number) : number === null || Number.isInteger(number);
  return isWhole ? number : undefined;
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
