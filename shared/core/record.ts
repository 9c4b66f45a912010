import { z } from 'zod';

/**
 * Values by keys that others choose. As zod's record, which leaves out the key `__proto__`: here it is an own field, as `JSON.parse` makes
 * it. Code that copies such an object key by key sets the keys with `setKey`.
 */
export function recordOf<Value extends z.ZodType>(values: Value): z.ZodRecord<z.ZodString, Value> {
  // Safe: the class parses the keys and values of these schemas, as the class that it extends.
  return new KeyedRecord({ type: 'record', keyType: z.string(), valueType: values }) as z.ZodRecord<z.ZodString, Value>;
}

const PROTOTYPE_KEY = '__proto__';

/** A class of its own, because zod makes a new schema of the class of the old one for each `describe` or `optional`. */
const KeyedRecord = z.core.$constructor('KeyedRecord', (schema: z.ZodRecord, definition: z.core.$ZodRecordDef) => {
  z.ZodRecord.init(schema, definition as z.ZodRecord['_zod']['def']);
  const parse = schema._zod.parse;
  schema._zod.parse = (payload, context) => {
    const given = payload.value;
    const parsed = parse(payload, context);
    if (typeof given !== 'object' || given === null || !Object.hasOwn(given, PROTOTYPE_KEY)) return parsed;
    const entry = { value: Reflect.get(given, PROTOTYPE_KEY), issues: [] };
    const own = definition.valueType._zod.run(entry, context);
    if (parsed instanceof Promise || own instanceof Promise)
      throw new TypeError('A schema of values may not be asynchronous');
    parsed.issues.push(...z.core.util.prefixIssues(PROTOTYPE_KEY, own.issues));
    // Safe: the value of a record that is an object is its copy of that.
    if (parsed.value !== given) setKey(parsed.value as Record<string, unknown>, PROTOTYPE_KEY, own.value);
    return parsed;
  };
});

/** Sets an own field. An assignment to `__proto__` would change the prototype instead. */
export function setKey<Value>(object: Record<string, Value>, key: string, value: Value): void {
  if (key !== PROTOTYPE_KEY) object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}
