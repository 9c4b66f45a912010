import { ANY, type Shape, type TypeName } from '#shared/workflow/nodes/results.ts';
import type { Expression } from '#shared/workflow/templates/expressions.ts';
import type { SampleSource } from './samples.ts';

export type Key = string | number;

/** A value that an expression can name. */
export interface Value {
  /** The root of the expression, and the keys behind it. */
  path: readonly Key[];
  name: string;
  shape: Shape;
  /** Undefined: not known yet. */
  sample: unknown;
  note?: string | undefined;
  /** The step whose test has the value, which is too large to come with the others. */
  omittedAt?: string | undefined;
  /** In a list of values, it begins open. */
  isOpen?: boolean;
  /** Its value is never shown. */
  isSecret?: boolean;
}

export interface ValueGroup {
  title: string;
  values: readonly Value[];
}

/** All that an expression can name at one step, before a run begins, or in an action on events. */
export interface Values {
  /** The input of the run, or the event. */
  input: Value;
  source: SampleSource;
  /** The first names of expressions. */
  roots: readonly string[];
  groups: readonly ValueGroup[];
  /** Names such as `ctx.total` that are there for others, and cannot be named here, each with the reason. */
  elsewhere: ReadonlyMap<string, string>;
  /** Roots that may have further names, which are not known. */
  open: ReadonlySet<string>;
  /** Where expressions are more than paths: what is wrong with one. */
  faultOf?: (expression: Expression) => string | undefined;
}

const OF_SECRETS = 'it is a secret, which the URL, headers, query and body of an HTTP request alone may have.';

/** The values for a field that no secret may be put into. */
export function withoutSecrets(values: Values): Values {
  const secrets = values.groups.flatMap((group) => group.values.filter(({ isSecret }) => isSecret));
  if (secrets.length === 0) return values;
  const groups = values.groups.map((group) => ({
    ...group,
    values: group.values.filter(({ isSecret }) => isSecret !== true),
  }));
  return {
    ...values,
    groups: groups.filter((group) => group.values.length > 0),
    elsewhere: new Map([...values.elsewhere, ...secrets.map(({ path }) => [path.join('.'), OF_SECRETS] as const)]),
  };
}

export function typeOf({ shape, sample, isSecret }: Pick<Value, 'shape' | 'sample' | 'isSecret'>): TypeName | 'secret' {
  if (isSecret) return 'secret';
  return sample === undefined ? shape.type : typeName(sample);
}

function typeName(value: unknown): TypeName {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'object') return 'object';
  if (typeof value === 'number') return 'number';
  return typeof value === 'boolean' ? 'yes or no' : 'text';
}

/** Whether other values may lie in it. */
export function hasParts({ shape, sample, omittedAt }: Value): boolean {
  if (omittedAt !== undefined) return true;
  if (sample === undefined) return Object.keys(shape.fields ?? {}).length > 0 || shape.items !== undefined;
  if (typeof sample !== 'object' || sample === null) return false;
  if (Array.isArray(sample)) return sample.length > 0;
  for (const _ in sample) return true;
  return false;
}

/** The parts of a value: those of its sample, and declared ones that the sample lacks. At most so many. */
export function* partsOf(value: Value): Generator<Value> {
  const { sample, shape } = value;
  if (Array.isArray(sample)) {
    // The keys of a list of a million items would be a million texts.
    for (const [index, item] of sample.entries()) yield partOf(value, index, item);
    return;
  }
  const own = typeof sample === 'object' && sample !== null ? (sample as Readonly<Record<string, unknown>>) : {};
  for (const key in own) if (Object.hasOwn(own, key)) yield partOf(value, key, own[key]);
  for (const key of Object.keys(shape.fields ?? {})) if (!Object.hasOwn(own, key)) yield partOf(value, key, undefined);
  if (sample === undefined && shape.items) yield partOf(value, 0, undefined);
}

function partOf(value: Value, key: Key, sample: unknown): Value {
  const { path, shape } = value;
  const declared = typeof key === 'number' ? shape.items : ownOf(shape.fields, key);
  return {
    ...{ path: [...path, key], name: String(key), sample, shape: declared ?? ANY, note: declared?.note },
    omittedAt: sample === undefined ? value.omittedAt : undefined,
  };
}

function ownOf<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record && Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Where a path leads: to a value, or to the first of its keys that is not there. */
export type Found = { value: Value; missing?: undefined } | { value: Value | undefined; missing: Key; isSure: boolean };

/** Follows keys from a value, as the engine reads them. */
export function follow(from: Value, keys: readonly Key[]): Found {
  let value = from;
  for (const key of keys) {
    const next = partAt(value, key);
    if (next === undefined) return { value, missing: key, isSure: isSureOf(value) };
    value = next;
  }
  return { value };
}

function partAt(value: Value, key: Key): Value | undefined {
  const { sample, shape } = value;
  if (Array.isArray(sample)) return itemAt(value, sample, key);
  if (typeof sample === 'object' && sample !== null) {
    const name = String(key);
    if (Object.hasOwn(sample, name)) return partOf(value, name, Reflect.get(sample, name));
    return ownOf(shape.fields, name) && partOf(value, name, undefined);
  }
  // An empty value, and a text, have no parts.
  return sample === undefined && isDeclared(shape, key) ? partOf(value, key, undefined) : undefined;
}

function itemAt(value: Value, list: readonly unknown[], key: Key): Value | undefined {
  if (key === 'length') return { ...partOf(value, key, list.length), shape: LENGTH };
  return typeof key === 'number' && key < list.length ? partOf(value, key, list[key]) : undefined;
}

/** Whether a value of a shape, which is not known yet, may have a part. */
function isDeclared(shape: Shape, key: Key): boolean {
  if (isUnknown(shape)) return true;
  if (shape.type === 'list') return typeof key === 'number' || key === 'length';
  return ownOf(shape.fields, String(key)) !== undefined;
}

const LENGTH: Shape = { type: 'number', note: 'How many items there are' };

/** Whether a value of this shape may have any parts. */
function isUnknown({ type, isClosed }: Shape): boolean {
  return type === 'any value' || (type === 'object' && isClosed !== true);
}

/** Whether a part that is not there can never be there. The value of a test may lack what that of another run has. */
function isSureOf({ sample, shape }: Value): boolean {
  return sample === undefined || shape.isClosed === true;
}

/** A value in a few words, however large it is. */
export function shortText(value: unknown, limit = 60): string {
  const text = writeShort(value, limit, 2);
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
}

function writeShort(value: unknown, limit: number, depth: number): string {
  if (typeof value === 'string') return JSON.stringify(value.length > limit ? `${value.slice(0, limit)}…` : value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) {
    const count = countOfItems(value);
    return depth === 0 || value.length === 0 ? count : `${count}: ${joined(itemTexts(value, limit, depth), limit)}`;
  }
  return depth === 0 ? '{…}' : `{${joined(fieldTexts(value, limit, depth), limit)}}`;
}

export function countOfItems({ length }: readonly unknown[]): string {
  if (length === 0) return 'no items';
  return length === 1 ? '1 item' : `${length.toLocaleString('en')} items`;
}

function* itemTexts(list: readonly unknown[], limit: number, depth: number): Generator<string> {
  for (const item of list) yield writeShort(item, limit, depth - 1);
}

function* fieldTexts(object: object, limit: number, depth: number): Generator<string> {
  for (const key in object)
    if (Object.hasOwn(object, key))
      yield `${key.slice(0, limit)}: ${writeShort(Reflect.get(object, key), limit, depth - 1)}`;
}

/** Texts one after the other, until there are enough. */
function joined(texts: Iterable<string>, limit: number): string {
  let all = '';
  for (const text of texts) {
    all += all === '' ? text : `, ${text}`;
    if (all.length > limit) break;
  }
  return all;
}
