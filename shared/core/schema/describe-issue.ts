import type { z } from 'zod';
import { countOf, quote } from '../quote.ts';
import { defOf, type Schema, wrappedIn } from './walk.ts';

/** Describes what a value should have been, for an issue that zod's error map gets: `a text of 1 to 255 characters`. */
export function expectationOf(issue: z.core.$ZodRawIssue): string {
  const owner = ownerOf(issue);
  switch (issue.code) {
    case 'invalid_format':
      return describeFormat(issue, owner);
    case 'too_big':
    case 'too_small':
      return isUnsafe(issue) ? `a whole number within ±${Number.MAX_SAFE_INTEGER}` : describeSchema(owner);
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`;
    case 'invalid_value':
      return oneOf(issue.values);
    case 'unrecognized_keys':
      return `no field called ${listed(issue.keys, 'or')}`;
    case 'invalid_key':
      return `a key that is ${keyOf(owner)}`;
    case 'invalid_union':
      // A discriminated union lists the names of its choices.
      return issue.options ? oneOf(issue.options as readonly unknown[]) : describeSchema(owner);
    default:
      return describeSchema(owner);
  }
}

/** The schema that raised an issue. A check raises issues, too; zod then says which schema has the check. */
function ownerOf(issue: z.core.$ZodRawIssue): Schema | undefined {
  const { inst, schema } = issue as { inst?: unknown; schema?: unknown };
  return [schema, inst].find(isSchema);
}

/** Whether the issue says that a whole number is beyond the range in which doubles are exact. */
function isUnsafe({ maximum, minimum }: { maximum?: unknown; minimum?: unknown }): boolean {
  return maximum === Number.MAX_SAFE_INTEGER || minimum === Number.MIN_SAFE_INTEGER;
}

function isSchema(candidate: unknown): candidate is Schema {
  return typeof candidate === 'object' && candidate !== null && '~standard' in candidate;
}

function keyOf(record: Schema | undefined): string {
  const def = record && defOf(record);
  return describeSchema(def?.type === 'record' ? def.keyType : undefined);
}

/** `a whole number from 1 to 65535`, `one of "a", "b"`. */
function describeSchema(schema: Schema | undefined): string {
  if (!schema) return ANY_VALUE;
  const def = defOf(schema);
  switch (def.type) {
    case 'number':
    case 'bigint':
      return `${isWhole(schema) ? 'a whole number' : 'a number'}${range(rangeOf(schema))}`;
    case 'string':
      return describeText(schema);
    case 'boolean':
      return 'true or false';
    case 'null':
      return 'null';
    case 'array':
    case 'set':
      return `a list${amount(rangeOf(schema), 'item')}`;
    case 'tuple':
      return `a list of ${countOf(def.items.length, 'item')}`;
    case 'object':
    case 'record':
    case 'map':
      return 'an object';
    case 'date':
      return 'a date';
    case 'enum':
      return oneOf(Object.values(def.entries));
    case 'literal':
      return oneOf(def.values);
    case 'undefined':
    case 'never':
    case 'void':
      return 'nothing';
    case 'union':
      return describeChoices(def.options);
    case 'intersection':
      return describeSchema(def.left);
    case 'pipe':
      return describeSchema(defOf(def.in).type === 'transform' ? def.out : def.in);
    default:
      return describeWrapped(schema);
  }
}

const ANY_VALUE = 'a value';

function describeWrapped(schema: Schema): string {
  const inner = wrappedIn(schema);
  if (!inner) return ANY_VALUE;
  const isNullable = defOf(schema).type === 'nullable';
  return isNullable ? `${describeSchema(inner)} or null` : describeSchema(inner);
}

/** All types of JSON together are described as `a value`: their list says no more. */
function describeChoices(choices: readonly Schema[]): string {
  const types = new Set<string>(choices.map((choice) => defOf(choice).type));
  if (['string', 'number', 'boolean', 'null', 'array', 'record'].every((type) => types.has(type))) return ANY_VALUE;
  const literals = choices.map(defOf).map((def) => (def.type === 'literal' ? def.values : undefined));
  if (literals.every((values) => values !== undefined)) return oneOf(literals.flat());
  return [...new Set(choices.map(describeSchema))].join(' or ');
}

function describeText(schema: Schema): string {
  const { format } = defOf(schema) as { format?: string };
  return `${(format && formats[format]) ?? 'a text'}${amount(rangeOf(schema), 'character')}`;
}

const formats: Readonly<Record<string, string>> = {
  uuid: 'an id (UUID)',
  guid: 'an id (UUID)',
  email: 'an email address',
  url: 'a URL',
  hostname: 'a host name',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  datetime: 'a date with a time such as 2030-01-31T12:00:00Z',
  date: 'a date such as 2030-01-31',
  time: 'a time such as 12:00:00',
  base64: 'a text in base64',
  json_string: 'JSON',
  lowercase: 'a text in lower case',
  uppercase: 'a text in capitals',
};

type InvalidFormat = z.core.$ZodRawIssue<z.core.$ZodIssueInvalidStringFormat>;

function describeFormat(issue: InvalidFormat, owner: Schema | undefined): string {
  const { format, pattern, prefix, suffix, includes } = issue;
  if (prefix !== undefined) return `a text that begins with ${JSON.stringify(prefix)}`;
  if (suffix !== undefined) return `a text that ends with ${JSON.stringify(suffix)}`;
  if (includes !== undefined) return `a text that contains ${JSON.stringify(includes)}`;
  const known = formats[format];
  if (known) return known;
  return pattern === undefined ? describeSchema(owner) : `a text that matches ${pattern}`;
}

interface Range {
  min?: number;
  max?: number;
  isAbove?: boolean;
  isBelow?: boolean;
}

type Check = z.core.$ZodChecks['_zod']['def'];

function rangeOf(schema: Schema): Range {
  const found: Range = {};
  for (const check of defOf(schema).checks ?? []) {
    // Every check is one of these classes; zod types the list by their base class.
    const def = check._zod.def as Check;
    if (def.check === 'greater_than') Object.assign(found, { min: Number(def.value), isAbove: !def.inclusive });
    if (def.check === 'less_than') Object.assign(found, { max: Number(def.value), isBelow: !def.inclusive });
    if (def.check === 'min_length' || def.check === 'min_size') found.min = def.minimum;
    if (def.check === 'max_length' || def.check === 'max_size') found.max = def.maximum;
    if (def.check === 'length_equals') Object.assign(found, { min: def.length, max: def.length });
  }
  return found;
}

function isWhole(schema: Schema): boolean {
  const def = defOf(schema);
  const all = [def, ...(def.checks ?? []).map((check) => check._zod.def)];
  return all.some((one) => 'format' in one && typeof one.format === 'string' && /int/.test(one.format));
}

function range({ min, max, isAbove = false, isBelow = false }: Range): string {
  if (min !== undefined && max !== undefined && !isAbove && !isBelow) return ` from ${min} to ${max}`;
  const lower = min !== undefined && (isAbove ? `above ${min}` : `of at least ${min}`);
  const upper = max !== undefined && (isBelow ? `below ${max}` : `of at most ${max}`);
  const both = [lower, upper].filter((part) => part !== false);
  return both.length > 0 ? ` ${both.join(' and ')}` : '';
}

function amount({ min, max }: Range, unit: string): string {
  if (min !== undefined && min === max) return ` of ${countOf(min, unit)}`;
  if (min && max !== undefined) return ` of ${min} to ${countOf(max, unit)}`;
  if (min === 1) return ' that is not empty';
  if (min) return ` of at least ${countOf(min, unit)}`;
  return max === undefined ? '' : ` of at most ${countOf(max, unit)}`;
}

function oneOf(values: readonly unknown[]): string {
  return values.length === 1 ? quote(values[0]) : `one of ${listed(values, ',')}`;
}

const MAX_LISTED = 60;

function listed(values: readonly unknown[], last: 'or' | ','): string {
  const shown = values.slice(0, MAX_LISTED).map(quote);
  if (values.length > MAX_LISTED) return `${shown.join(', ')}, … (${values.length} in all)`;
  return last === 'or' && shown.length > 1 ? `${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}` : shown.join(', ');
}
