import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../json.ts';
import { isSealed, type KeyRing } from '../key-ring.ts';
import { invalid } from './issues.ts';
import { below, createContains, type Schema, unfold } from './walk.ts';

/** The text that responses contain instead of a stored secret. */
export const MASK = '••••••••';

/**
 * Declares a field of a free-form options object to be a secret: it is stored sealed, and answers contain the mask. The
 * declaration survives refining and wrapping of the schema; the JSON schema shows it as `x-secret`.
 */
export function secret<S extends z.ZodType>(schema: S): S {
  return schema.meta({ 'x-secret': true }) as S;
}

/**
 * Declares a field to be a part of the address that the secrets of its object are sent to. A client that changes the address must
 * send the secrets again (`refuseMoved`). The JSON schema shows it as `x-destination`.
 */
export function destination<S extends z.ZodType>(schema: S): S {
  return schema.meta({ 'x-destination': true }) as S;
}

/** Masks secrets for an answer; empty ones stay empty. */
export function maskSecrets(schema: z.ZodType, options: JsonObject, mask: string = MASK): JsonObject {
  return eachSecret(schema, options, () => mask);
}

/** Seals secrets for the database. The context names the row and the column; each value is also bound to its path in them. */
export function sealSecrets(schema: z.ZodType, options: JsonObject, { secrets, context }: SealContext): JsonObject {
  return eachSecret(schema, options, (value, path) => secrets.seal(JSON.stringify(value), fieldContext(context, path)));
}

/** Opens sealed secrets. A value that was stored before its field was declared a secret is returned as it is. */
export function openSecrets(schema: z.ZodType, options: JsonObject, { secrets, context }: SealContext): JsonObject {
  return eachSecret(schema, options, (value, path) =>
    isSealed(value) ? (JSON.parse(secrets.open(value, fieldContext(context, path), nameAt(path))) as Json) : value,
  );
}

/**
 * Replaces masks in the options of an update by the stored secrets (in clear). Elements of a list are matched by all their
 * fields that are not secret, then by `id`, `key` or `name`; a mask without a certain match is an error.
 */
export function keepMasked(
  schema: z.ZodType,
  options: JsonObject,
  stored: JsonObject,
  unmatched: Unmatched = refuseUnmatched,
): JsonObject {
  return keep([schema], { next: options, stored, path: [] }, unmatched) as JsonObject;
}

/** Stands in opened options for a secret that no key here opens. No client can send it: texts with this character are refused. */
export const UNREADABLE = '\0unreadable';

/** The value for a mask without a match, or whose match no key here opens. */
type Unmatched = (path: Path, stored: Json | undefined) => Json;

function refuseUnmatched(path: Path, stored: Json | undefined): Json {
  const fault = stored === UNREADABLE ? 'that one was sealed with a key that is not here' : 'no stored secret matches';
  throw invalid([{ path: [...path], message: `is the mask of a stored secret, but ${fault}: send the secret itself` }]);
}

/** Like `keepMasked`, but a mask without a certain match stays a mask, and its path is listed in `missing`. */
export function keepKnown(schema: z.ZodType, options: JsonObject, stored: JsonObject) {
  const missing: Path[] = [];
  const known = keepMasked(schema, options, stored, (path) => {
    missing.push(path);
    return MASK;
  });
  return { known, missing };
}

/** Leaves out the secrets that are only a mask. */
export function withoutMasked(schema: z.ZodType, options: JsonObject): JsonObject {
  const shown = eachSecret(schema, options, (value) => (value === MASK ? UNSET : value));
  return JSON.parse(JSON.stringify(shown, (_key, value) => (value === UNSET ? undefined : value)));
}

const UNSET = '\0unset';

interface Update {
  /** As the client sent it, with masks. */
  given: JsonObject;
  next: JsonObject;
  stored: JsonObject;
}

/** Rejects options that keep stored secrets by their mask but send them to another address. */
export function refuseMoved(schema: z.ZodType, { given, next, stored }: Update): void {
  const before = new Map(destinationsOf(schema, stored));
  const after = new Map(destinationsOf(schema, next));
  const moved = [...new Set([...before.keys(), ...after.keys()])].find((path) => before.get(path) !== after.get(path));
  if (moved === undefined) return;
  const [first, ...others] = maskedPaths(schema, given);
  if (!first) return;
  const message = `must be given again, because ${moved} changes: a stored secret is not sent to another address`;
  throw invalid([first, ...others].map((path) => ({ path: [...path], message })));
}

/** The parts of addresses, each with its path. */
function destinationsOf(schema: z.ZodType, options: JsonObject): [path: string, value: string][] {
  const found: [string, string][] = [];
  visit(inDestinations([schema]), options, [], (value, path, schemas) => {
    if (schemas.some((one) => isMarked(one, 'x-destination'))) found.push([path.join('.'), JSON.stringify(value)]);
    return inDestinations(schemas);
  });
  return found;
}

function maskedPaths(schema: z.ZodType, options: JsonObject): Path[] {
  const found: Path[] = [];
  visit(inSecrets([schema]), options, [], (value, path, schemas) => {
    if (value === MASK && schemas.some(isSecret)) found.push(path);
    return hasMask(value) ? inSecrets(schemas) : [];
  });
  return found;
}

/** Visits the parts of a value that a schema describes. `see` answers with the schemas whose parts are visited. */
function visit(
  schemas: readonly Schema[],
  value: Json,
  path: Path,
  see: (value: Json, path: Path, schemas: readonly Schema[]) => readonly Schema[],
): void {
  if (schemas.length === 0) return;
  const wanted = see(
    value,
    path,
    schemas.flatMap((schema) => unfold(schema, value)),
  );
  if (wanted.length === 0) return;
  mapChildren(value, (child, key) => {
    visit(below(wanted, key), child, [...path, key], see);
    return child;
  });
}

/** Seals again, at any depth, values that were sealed with an older key; the context is that of `sealSecrets`. */
export function resealSecrets(value: Json, { secrets, context }: SealContext, path: Path = []): Json {
  if (isSealed(value)) {
    const sealContext = fieldContext(context, path);
    if (secrets.isCurrent(value, sealContext)) return value;
    return secrets.seal(secrets.open(value, sealContext), sealContext);
  }
  return mapChildren(value, (child, key) => resealSecrets(child, { secrets, context }, [...path, key]));
}

/** Whether the value at a path is declared to be a secret, or inside of one. */
export function isSecretAt(schema: z.ZodType, value: unknown, path: Path): boolean {
  let at = value as Json;
  let schemas = unfold(schema, at);
  for (const key of path) {
    if (schemas.some(isSecret)) return true;
    at = childAt(at, key);
    schemas = below(schemas, key).flatMap((inner) => unfold(inner, at));
  }
  return schemas.some(isSecret);
}

function nameAt(path: Path): string {
  return `The secret "${path.join('.')}"`;
}

export interface SealContext {
  secrets: KeyRing;
  context: string;
}

type Key = string | number;
export type Path = readonly Key[];

/** The context of the value at a path. */
export function fieldContext(context: string, path: Path): string {
  return [context, ...path.map((key) => encodeURIComponent(key))].join('/');
}

/** Changes the values that the schema declares secrets. */
export function eachSecret(
  schema: z.ZodType,
  options: JsonObject,
  change: (value: Json, path: Path) => Json,
): JsonObject {
  return walk([schema], options, [], change) as JsonObject;
}

function walk(schemas: readonly Schema[], value: Json, path: Path, change: (value: Json, path: Path) => Json): Json {
  const wanted = inSecrets(schemas);
  if (wanted.length === 0 || isEmpty(value)) return value;
  const all = wanted.flatMap((schema) => unfold(schema, value));
  if (all.some(isSecret)) return change(value, path);
  return mapChildren(value, (child, key) => walk(below(all, key), child, [...path, key], change));
}

interface Keeping {
  next: Json;
  stored: Json | undefined;
  path: Path;
}

function keep(schemas: readonly Schema[], { next, stored, path }: Keeping, unmatched: Unmatched): Json {
  const wanted = inSecrets(schemas);
  // A value without a mask stays as it is. Otherwise each element of a long list would be walked with its schemas for nothing.
  if (wanted.length === 0 || !hasMask(next)) return next;
  const all = wanted.flatMap((schema) => unfold(schema, next));
  if (all.some(isSecret)) {
    if (next !== MASK) return next;
    const isKnown = stored !== undefined && !isEmpty(stored) && stored !== UNREADABLE;
    return isKnown ? stored : unmatched(path, stored);
  }
  const partner = Array.isArray(next) ? partners(below(all, 0), next, stored) : childOf;
  return mapChildren(next, (child, key) =>
    keep(below(all, key), { next: child, stored: partner(stored, key), path: [...path, key] }, unmatched),
  );
}

function childOf(stored: Json | undefined, key: Key): Json | undefined {
  return isJsonObject(stored) && Object.hasOwn(stored, key) ? stored[key] : undefined;
}

function childAt(value: Json, key: Key): Json {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : null;
}

/** Finds the stored element for each element of a list, if the match is certain. Lists may have 100,000 elements. */
function partners(schemas: readonly Schema[], next: readonly Json[], stored: Json | undefined) {
  if (!Array.isArray(stored) || stored.length === 0) return () => undefined;
  const alike = Map.groupBy(stored, (item) => sorted(walk(schemas, item, [], () => MASK)));
  const counts = new Map<string, number>();
  const ranks = next.map((item) => {
    const text = sorted(item);
    const rank = counts.get(text) ?? 0;
    counts.set(text, rank + 1);
    return { text, rank };
  });
  const named = Map.groupBy(stored, nameOf);
  return (_stored: unknown, key: Key): Json | undefined => {
    const { text = '', rank = 0 } = ranks[Number(key)] ?? {};
    const found = alike.get(text) ?? [];
    if (found.length > 0 && found.length === counts.get(text)) return found[rank];
    const name = nameOf(next[Number(key)] ?? null);
    const ofName = name === undefined ? [] : (named.get(name) ?? []);
    return ofName.length === 1 ? ofName[0] : undefined;
  };
}

/** The same text for equal values, also if their keys have another order. */
function sorted(value: Json): string {
  return JSON.stringify(value, (_key, child: Json) =>
    isJsonObject(child) ? Object.fromEntries(Object.entries(child).sort(([a], [b]) => (a < b ? -1 : 1))) : child,
  );
}

function nameOf(item: Json): Json | undefined {
  return isJsonObject(item) ? (item.id ?? item.key ?? item.name) : undefined;
}

function isEmpty(value: Json): boolean {
  return value === undefined || value === null || value === '';
}

function mapChildren(value: Json, change: (child: Json, key: Key) => Json): Json {
  if (Array.isArray(value)) return value.map(change);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, change(child, key)]));
}

function hasMask(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return value === MASK;
  return Array.isArray(value) ? value.some(hasMask) : Object.keys(value).some((key) => hasMask(value[key] ?? null));
}

const containsSecret = createContains((schema) => isSecret(schema));
const containsDestination = createContains((schema) => isMarked(schema, 'x-destination'));

/** Leaves out schemas that contain no secret, so that values which only such schemas describe, maybe a million, are not visited. */
function inSecrets(schemas: readonly Schema[]): readonly Schema[] {
  return schemas.every(containsSecret) ? schemas : schemas.filter(containsSecret);
}

function inDestinations(schemas: readonly Schema[]): readonly Schema[] {
  return schemas.every(containsDestination) ? schemas : schemas.filter(containsDestination);
}

/** Whether a schema is declared a secret. Of several choices that may apply to a value one is enough: it is then masked, to be safe. */
function isSecret(schema: Schema): boolean {
  return isMarked(schema, 'x-secret');
}

function isMarked(schema: Schema, mark: 'x-secret' | 'x-destination'): boolean {
  return z.globalRegistry.get(schema)?.[mark] === true;
}
