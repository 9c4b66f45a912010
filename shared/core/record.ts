import { z } from 'zod';

/**
 * Values by keys that others choose. As zod's record, which leaves out the key `__proto__`: here it is an own field, as `JSON.parse` makes
 * it. Code that copies such an object key by key sets the keys with `setKey`.
 */
export function recordOf<Value extends z.ZodType>(values: Value): z.ZodRecord<z.ZodString, Value> {
  // Safe: the class parses the keys and values of these schemas, as the class that it extends.
  return new KeyedRecord({ type: 'record', keyType: z.string(), valueType: values }) as z.ZodRecord<z.ZodString, Value>;
}

/**
 * An object with fields that the schema names, and others that it keeps as they are. As zod's looseObject, which leaves out the key
 * `__proto__`: here it is an own field.
 */
export function looseObject<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$loose> {
  return withOthers(shape, z.unknown()) as unknown as z.ZodObject<Shape, z.core.$loose>;
}

/** An object with fields that the schema names, and others of the schema `values`. */
export function withOthers<Shape extends z.ZodRawShape, Value extends z.ZodType>(
  shape: Shape,
  values: Value,
): z.ZodObject<Shape, z.core.$catchall<Value>> {
  // Safe: the class parses what the class that it extends parses.
  return new KeyedObject({ type: 'object', shape, catchall: values }) as unknown as z.ZodObject<
    Shape,
    z.core.$catchall<Value>
  >;
}

export const PROTOTYPE_KEY = '__proto__';

// Classes of their own, because zod makes a new schema of the class of the old one for each `describe` or `optional`.

export const KeyedRecord: z.core.$constructor<z.ZodRecord, z.core.$ZodRecordDef> = z.core.$constructor(
  'KeyedRecord',
  (schema: z.ZodRecord, definition: z.core.$ZodRecordDef) => {
    z.ZodRecord.init(schema, definition as z.ZodRecord['_zod']['def']);
    keepPrototypeKey(schema, definition.valueType);
  },
);

export const KeyedObject: z.core.$constructor<z.ZodObject, z.core.$ZodObjectDef> = z.core.$constructor(
  'KeyedObject',
  (schema: z.ZodObject, definition: z.core.$ZodObjectDef) => {
    z.ZodObject.init(schema, definition as z.ZodObject['_zod']['def']);
    if (definition.catchall) keepPrototypeKey(schema, definition.catchall);
  },
);

function keepPrototypeKey(schema: z.ZodType, values: z.core.$ZodType): void {
  const parse = schema._zod.parse;
  schema._zod.parse = (payload, context) => {
    const given = payload.value;
    const parsed = parse(payload, context);
    if (typeof given !== 'object' || given === null || !Object.hasOwn(given, PROTOTYPE_KEY)) return parsed;
    const entry = { value: Reflect.get(given, PROTOTYPE_KEY), issues: [] };
    const own = values._zod.run(entry, context);
    if (parsed instanceof Promise || own instanceof Promise)
      throw new TypeError('A schema of values may not be asynchronous');
    parsed.issues.push(...z.core.util.prefixIssues(PROTOTYPE_KEY, own.issues));
    // Safe: the value of such a schema is its copy of an object.
    if (parsed.value !== given) setKey(parsed.value as Record<string, unknown>, PROTOTYPE_KEY, own.value);
    return parsed;
  };
}

/** Sets an own field. An assignment to `__proto__` would change the prototype instead. */
export function setKey<Value>(object: Record<string, Value>, key: string, value: Value): void {
  if (key !== PROTOTYPE_KEY) object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}
