import { choicesFor, defOf, partsOf, readerOf, type Schema, wrappedIn } from '#shared/core/schema/walk.ts';
import { closest } from './suggestion.ts';

export interface UnknownField {
  path: (string | number)[];
  message: string;
}

/** The fields of a request that no schema reads: the first of them, and how many there are. */
export interface UnknownFields {
  fields: UnknownField[];
  count: number;
}

export const MAX_UNKNOWN_FIELDS = 50;

/**
 * Finds the keys of a value that its schemas drop or ignore. A key is known if one of them reads it: of a union, any choice that
 * the value may be; of an intersection, either side. Open objects, records, and values that a transform or other code gets as they
 * are have no unknown keys. Linear in the size of the value; parts in which nothing can be unknown are not walked.
 */
export function findUnknownFields(
  schemas: readonly Schema[],
  value: unknown,
  at: readonly (string | number)[] = [],
): UnknownFields {
  const found: UnknownFields = { fields: [], count: 0 };
  visit(partOf(schemas), value, { found, at });
  return found;
}

/** Whether an object has keys, and its schema reads none of them. */
export function knowsNoKey(schema: Schema, value: unknown): boolean {
  if (!isObject(value) || Array.isArray(value)) return false;
  const { isOpen, fields } = partOf([schema]).keysOf(value);
  const keys = Object.keys(value);
  return !isOpen && keys.length > 0 && !keys.some((key) => fields.has(key));
}

/** A position in the value; a path is built only for a field that is reported. */
interface Position {
  found: UnknownFields;
  at?: readonly (string | number)[];
  parent?: Position;
  key?: string | number;
}

function visit(part: Part, value: unknown, position: Position): void {
  if (part.isSilent || !isObject(value) || isEmptyList(value)) return;
  const { found } = position;
  if (Array.isArray(value)) {
    const elementAt = part.elementsOf(value);
    for (const [key, element] of value.entries()) {
      const inner = elementAt(key);
      if (inner) visit(inner, element, { found, parent: position, key });
    }
    return;
  }
  const keys = part.keysOf(value);
  for (const key of Object.keys(value)) {
    const inner = keys.fields.get(key) ?? keys.rest;
    if (inner) visit(inner, Reflect.get(value, key), { found, parent: position, key });
    else if (!keys.isOpen) report([...keys.fields.keys()], value, { found, parent: position, key });
  }
}

function report(known: readonly string[], value: object, position: Position): void {
  const { found, key = '' } = position;
  found.count += 1;
  if (found.fields.length === MAX_UNKNOWN_FIELDS) return;
  const meant = closest(
    String(key),
    known.filter((name) => !Object.hasOwn(value, name)),
  );
  const message = meant === undefined ? 'not known here' : `not known here; did you mean ${meant}?`;
  found.fields.push({ path: pathOf(position), message });
}

function pathOf(position: Position): (string | number)[] {
  const keys: (string | number)[] = [];
  let outermost = position;
  for (; outermost.parent; outermost = outermost.parent) if (outermost.key !== undefined) keys.push(outermost.key);
  return [...(outermost.at ?? []), ...keys.reverse()];
}

/** The schemas of one position, and what they read of a value there. */
interface Part {
  /** Whether the schemas accept every key at every depth, so that a walk of the value would report nothing. */
  readonly isSilent: boolean;
  keysOf(value: object): Keys;
  elementsOf(value: readonly unknown[]): (index: number) => Part | undefined;
}

/** Which keys an object may have. */
interface Keys {
  readonly fields: ReadonlyMap<string, Part>;
  /** The schema of all other keys. */
  readonly rest: Part | undefined;
  /** Other keys are allowed. */
  readonly isOpen: boolean;
}

/** Computed once for each schema; the routes have several thousand. */
const parts = new WeakMap<Schema, Part>();
const keysOfSchema = new WeakMap<Schema, Keys>();

function partOf(schemas: readonly Schema[]): Part {
  return memoized(parts, schemas, createPart);
}

function memoized<T>(made: WeakMap<Schema, T>, schemas: readonly Schema[], make: (schemas: readonly Schema[]) => T): T {
  const [only] = schemas;
  if (!only || schemas.length > 1) return make(schemas);
  const before = made.get(only);
  if (before) return before;
  const value = make(schemas);
  made.set(only, value);
  return value;
}

function createPart(schemas: readonly Schema[]): Part {
  return {
    isSilent: schemas.every((schema) => isSilent(schema)),
    keysOf: (value) => memoized(keysOfSchema, readersOf(schemas, value).filter(hasKeys), createKeys),
    elementsOf(value) {
      const readers = readersOf(schemas, value);
      if (readers.some(passesOn)) return () => undefined;
      const isTuple = readers.some((schema) => defOf(schema).type === 'tuple');
      const partAt = (index: number) => partOf(readers.flatMap((schema) => elementAt(schema, index) ?? []));
      if (isTuple) return partAt;
      const each = partAt(0);
      return () => each;
    },
  };
}

function createKeys(readers: readonly Schema[]): Keys {
  // No key is unknown in a value that is passed on unread, or that its schema refuses anyway.
  if (readers.length === 0 || readers.some(passesOn)) return { fields: new Map(), rest: undefined, isOpen: true };
  const names = new Set(readers.flatMap((schema) => Object.keys(shapeOf(schema))));
  const below = (name: string) => readers.flatMap((schema) => fieldOf(schema, name) ?? restOf(schema) ?? []);
  const rest = readers.flatMap((schema) => restOf(schema) ?? []);
  return {
    fields: new Map([...names].map((name) => [name, partOf(below(name))])),
    rest: rest.length > 0 ? partOf(rest) : undefined,
    isOpen: rest.length > 0,
  };
}

function fieldOf(schema: Schema, name: string): Schema | undefined {
  const shape = shapeOf(schema);
  return Object.hasOwn(shape, name) ? shape[name] : undefined;
}

function shapeOf(schema: Schema): Readonly<Record<string, Schema>> {
  const def = defOf(schema);
  return def.type === 'object' ? def.shape : {};
}

function restOf(schema: Schema): Schema | undefined {
  const def = defOf(schema);
  if (def.type === 'object') return def.catchall;
  return def.type === 'record' ? def.valueType : undefined;
}

function elementAt(schema: Schema, index: number): Schema | undefined {
  const def = defOf(schema);
  if (def.type === 'array') return def.element;
  return def.type === 'tuple' ? (def.items[index] ?? def.rest ?? undefined) : undefined;
}

function hasKeys(schema: Schema): boolean {
  const { type } = defOf(schema);
  return type === 'object' || type === 'record' || passesOn(schema);
}

/** Whether the schema passes the value on unread, to other code. */
function passesOn(schema: Schema): boolean {
  return passing.has(defOf(schema).type);
}

const passing: ReadonlySet<string> = new Set(['any', 'unknown', 'custom', 'transform']);

/** The schemas that read the value itself: wrappers are removed, and unions resolved by the value. */
function readersOf(schemas: readonly Schema[], value: object): readonly Schema[] {
  const [only] = schemas;
  const readers =
    schemas.length === 1 && only ? readersIn(only, value) : schemas.flatMap((one) => readersIn(one, value));
  return readers.length > 1 ? [...new Set(readers)] : readers;
}

function readersIn(schema: Schema, value: object): readonly Schema[] {
  const reader = readerOf(schema);
  if (reader) {
    const other = reader(value);
    return other ? readersIn(other, value) : [];
  }
  const def = defOf(schema);
  if (def.type === 'union') return readersOf(choicesFor(def, value), value);
  if (def.type === 'intersection') return readersOf([def.left, def.right], value);
  // The output of a transform is not part of the request.
  if (def.type === 'pipe') return readersIn(def.in, value);
  const inner = wrappedIn(schema);
  return inner ? readersIn(inner, value) : [schema];
}

/** Whether the schema accepts every key at every depth, so that no unknown field can be reported. */
function isSilent(schema: Schema): boolean {
  const reached = new Set([schema]);
  for (const one of reached) for (const part of insideOf(one)) reached.add(part);
  return ![...reached].some((one) => {
    const def = defOf(one);
    return readerOf(one) !== undefined || (def.type === 'object' && !def.catchall);
  });
}

function insideOf(schema: Schema): readonly Schema[] {
  const def = defOf(schema);
  // The output of a transform is not part of the request.
  return def.type === 'pipe' ? [def.in] : partsOf(schema);
}

/** Empty lists are skipped first: a body may have 170,000 of them. */
function isEmptyList(value: object): boolean {
  return Array.isArray(value) && value.length === 0;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
