import { z } from 'zod';
import { KeyedObject, KeyedRecord } from './record.ts';
import { tooManyParts } from './unstorable.ts';

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/**
 * JSON of a client or of a stored row. `z.json()` tries six schemas on each element and copies the value: 140 ms for half a megabyte
 * of `[{},{},…]`, which this reads in 3 ms.
 */
export const Json: z.ZodType<Json> = z
  .unknown()
  .check((context) => {
    if (!isParsed && !isJSON(context.value))
      context.issues.push({ code: 'invalid_union', errors: [], input: context.value });
  })
  .meta({ id: 'Json', title: 'Json', description: 'Any JSON value' }) as z.ZodType<Json>;
let isParsed = false;

/** Does work that checks a large value from `JSON.parse`, without going through it to see whether it is JSON. */
export function ofParsedJSON<T>(work: () => T): T {
  isParsed = true;
  try {
    return work();
  } finally {
    isParsed = false;
  }
}

/** JSON that our own code has made. Not checked: with a million rows the check would block the process for seconds. */
export const OwnJson = z.unknown() as z.ZodType<Json>;
export const OwnJsonObject = z.unknown() as z.ZodType<JsonObject>;

/** A record that returns an object of parsed JSON as it is. It would copy each field, which takes 100 ms for 100,000. */
const JsonRecord = z.core.$constructor('JsonRecord', (schema: z.ZodRecord, definition: z.core.$ZodRecordDef) => {
  KeyedRecord.init(schema, definition);
  const { parse } = schema._zod;
  schema._zod.parse = (payload, context) =>
    isParsed && isJsonObject(payload.value) ? payload : parse(payload, context);
});

// Safe: the class parses the keys and values of these schemas, as the class that it extends.
export const JsonObject = new JsonRecord({
  type: 'record',
  keyType: z.string(),
  valueType: Json,
}) as unknown as z.ZodRecord<z.ZodString, typeof Json>;

/**
 * Elements and fields of one value of settings, such as the config of a node: what is done with it, field by field, has no pauses. Lists of
 * data belong into args and rows, which have no such limit.
 */
export const MAX_SETTINGS = 20_000;

let isStored = false;

/** Does work that checks what has been stored once, perhaps before settings had a limit. */
export function ofStored<T>(work: () => T): T {
  isStored = true;
  try {
    return work();
  } finally {
    isStored = false;
  }
}

/** Whether a setting has more elements and fields than new ones may have. */
export function exceeds(setting: unknown, max = MAX_SETTINGS): boolean {
  return !isStored && hasMoreParts(setting, max);
}

/** A check of a schema: refuses a value whose lists and objects have more elements and fields together. */
export function atMostParts(max = MAX_SETTINGS): (payload: z.core.ParsePayload) => void {
  return ({ value, issues }) => {
    if (exceeds(value, max)) issues.push({ code: 'custom', input: value, message: tooManyParts(max) });
  };
}

/** An object of JSON that is a setting. */
export const Settings = JsonObject.check(atMostParts());

/**
 * Settings of which the schema knows some fields. Their number is checked before the fields are, and those that it does not know are taken as
 * they are.
 */
export function settingsWith<Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodObject<Shape, z.core.$catchall<typeof Json>> {
  // Safe: the class parses what the class that it extends parses.
  return new SettingsObject({ type: 'object', shape, catchall: Json }) as unknown as z.ZodObject<
    Shape,
    z.core.$catchall<typeof Json>
  >;
}

const SettingsObject = z.core.$constructor(
  'SettingsObject',
  (schema: z.ZodObject, definition: z.core.$ZodObjectDef) => {
    KeyedObject.init(schema, definition);
    const { parse } = schema._zod;
    const refuseMany = atMostParts();
    schema._zod.parse = (payload, context) => {
      refuseMany(payload);
      const given = payload.value;
      if (payload.issues.length > 0) return payload;
      if (!isParsed || !isJsonObject(given)) return parse(payload, context);
      // To copy each of 20,000 fields through its schema would take 20 ms.
      const known = Object.keys(definition.shape).filter((key) => Object.hasOwn(given, key));
      const parsed = parse({ ...payload, value: Object.fromEntries(known.map((key) => [key, given[key]])) }, context);
      if (parsed instanceof Promise) throw new TypeError('A schema of settings may not be asynchronous');
      return Object.assign(payload, { issues: parsed.issues, value: Object.assign({ ...given }, parsed.value) });
    };
  },
);

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the lists and objects in a value have more than `max` elements and fields together, without those of `except`. Stops early. */
export function hasMoreParts(value: unknown, max: number, except?: object): boolean {
  let count = 0;
  const left: object[] = isObject(value) ? [value] : [];
  for (let part = left.pop(); part !== undefined && count <= max; part = left.pop()) {
    if (Array.isArray(part) && part.length > max) return true;
    // Counts the keys before it reads the values: for a large object, keys take a third of the time of values.
    const keys = Object.keys(part);
    count += keys.length;
    if (count <= max) for (const key of keys) pushObject(left, Reflect.get(part, key), except);
  }
  return count > max;
}

function pushObject(list: object[], value: unknown, except: object | undefined): void {
  if (isObject(value) && value !== except) list.push(value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isJSON(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true;
  if (Array.isArray(value)) return areJSON(value);
  return isPlainObject(value) && isObjectOfJSON(value);
}

/** Whether all values of a list are JSON. A loop, because `every` skips the holes of a list. */
function areJSON(values: readonly unknown[]): boolean {
  for (let at = 0; at < values.length; at += 1) if (!isJSON(values[at])) return false;
  return true;
}

function isObjectOfJSON(value: Record<string, unknown>): boolean {
  for (const key of Object.keys(value)) if (!isJSON(value[key])) return false;
  return true;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
