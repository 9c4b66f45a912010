import { z } from 'zod';
import { hasMoreParts, isJsonObject } from '../json.ts';
import { quote } from '../quote.ts';
import { expectationOf } from './describe-issue.ts';
import { type Issue, invalid, type Path, within } from './issues.ts';
import { isSecretAt } from './secret.ts';

/** The parsed value, or the issues: only the first ones if there are very many. `count` is the number of all issues. */
export type ParsedValue<T> = { success: true; data: T } | { success: false; issues: Issue[]; count: number };

/**
 * Parses a value that a person may have written. Each issue says what was expected and what was received, in plain words: `expected a
 * whole number from 1 to 65535, received "abc"`. A message that the schema has of its own stays. Secrets are never repeated. Of a
 * value with very many parts only the first issue is looked for: a list of a million wrong elements has as many.
 */
export function parseValue<S extends z.ZodType>(
  schema: S,
  value: unknown,
  { isLarge = false }: { isLarge?: boolean } = {},
): ParsedValue<z.output<S>> {
  const isHasty = isLarge || hasMoreParts(value, LARGE);
  const parsed = schema._zod.run({ value, issues: [] }, isHasty ? HASTY_CONTEXT : CONTEXT);
  if (parsed instanceof Promise) throw new Error('The schema has a check that is asynchronous');
  const { issues, value: data } = parsed;
  // Safe: without issues it is the schema's output.
  if (issues.length === 0) return { success: true, data: data as z.output<S> };
  const whole: Whole = { schema, value, explained: 0 };
  const shown = issues.slice(0, MAX_ISSUES).map((issue) => z.core.util.finalizeIssue(issue, CONTEXT, z.core.config()));
  return { success: false, issues: shown.flatMap((issue) => explain(issue, [], whole)), count: issues.length };
}

/** Limit of issues that get a message. `safeParse` would write messages for all, which may take long. */
const MAX_ISSUES = 1_000;

const CONTEXT: z.core.ParseContextInternal<z.core.$ZodIssue> = {
  async: false,
  // `explain` adds the received value: inside of a union this map gets only the end of the path, and a coerced value as NaN.
  error: (issue) => `${MARK}${expectationOf(issue)}`,
};

const HASTY_CONTEXT = { ...CONTEXT, abortEarly: true };

/** With more elements and fields, a value is parsed only up to its first issue. */
const LARGE = 20_000;

/** Parses a value as `parseValue` does, or throws VALIDATION_ERROR; `at` is the path of the value. */
export function requireValue<S extends z.ZodType>(schema: S, value: unknown, at: Path = []): z.output<S> {
  const parsed = parseValue(schema, value);
  if (!parsed.success) throw invalid(within(at, parsed.issues));
  return parsed.data;
}

/** Marks the beginning of messages that `expectationOf` has made. No message of a schema itself begins with it. */
const MARK = '\0';

interface Whole {
  schema: z.ZodType;
  value: unknown;
  /** How many issues say what was received. */
  explained: number;
}

/** Limit of issues that say what was received, since one issue of a union may become many. */
const MAX_EXPLAINED = 1_000;

function explain(issue: z.core.$ZodIssue, before: Path, whole: Whole): Issue[] {
  const path = [...before, ...issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))];
  const { code, message } = issue;
  if (!message.startsWith(MARK)) return [{ path, message, type: code }];
  const meant = issue.code === 'invalid_union' ? choiceMeant(issue.errors) : undefined;
  if (meant) return meant.flatMap((inner) => explain(inner, path, whole));
  const expected = `expected ${message.slice(MARK.length)}`;
  const received = isNamedInExpectation.has(code) ? undefined : describeReceived(whole, path);
  return [{ path, message: received === undefined ? expected : `${expected}, received ${received}`, type: code }];
}

/** The path of a wrong key already says what was received. */
const isNamedInExpectation: ReadonlySet<string> = new Set(['unrecognized_keys', 'invalid_key']);

type Issues = readonly z.core.$ZodIssue[];

/**
 * The issues of the choice that was meant, if they say more than that no choice fits. Of several choices of the value's type it is
 * the one with the fewest issues.
 */
function choiceMeant(choices: readonly Issues[]): Issues | undefined {
  const [meant] = choices.filter(fitsType).sort((one, other) => one.length - other.length);
  return meant?.some(isSpecific) ? meant : undefined;
}

function fitsType(issues: Issues): boolean {
  return !issues.some((issue) => {
    if (issue.path.length > 0) return false;
    if (issue.code === 'invalid_union') return !issue.errors.some(fitsType);
    return issue.code === 'invalid_type' || issue.code === 'invalid_value';
  });
}

/** Whether an issue is about a part of the value, or has a message of the schema. */
function isSpecific(issue: z.core.$ZodIssue): boolean {
  if (issue.path.length > 0 || !issue.message.startsWith(MARK)) return true;
  return issue.code === 'invalid_union' && choiceMeant(issue.errors) !== undefined;
}

/** Describes the received value at a path; undefined if the path leads into a value that a transform has made. */
function describeReceived(whole: Whole, path: Path): string | undefined {
  const { schema, value } = whole;
  whole.explained += 1;
  if (whole.explained > MAX_EXPLAINED) return undefined;
  let at: unknown = value;
  let parent: unknown;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    parent = at;
    at = Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined;
  }
  return isScalar(at) && isSecretAt(schema, value, path) ? typeNames[typeof at] : quoteSafely(at, path, parent);
}

/** `expected a number, received "abc"`, for a check outside of schemas. */
export function mismatch(expected: string, value: unknown, path: Path): string {
  return `expected ${expected}, received ${quoteSafely(value, path)}`;
}

function quoteSafely(value: unknown, path: Path, parent?: unknown): string {
  return isScalar(value) && looksSecret(value, path, parent) ? (typeNames[typeof value] ?? '') : quote(value);
}

type Scalar = string | number | bigint | boolean;

function isScalar(value: unknown): value is Scalar {
  return Object.hasOwn(typeNames, typeof value);
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  bigint: 'a number',
  boolean: 'true or false',
};

/** Whether a value is named or written like a secret: it may have been put into the wrong field. */
function looksSecret(value: Scalar, path: Path, parent: unknown): boolean {
  const names = [...path, ...(isJsonObject(parent) ? [parent.key, parent.name] : [])];
  if (names.some((name) => typeof name === 'string' && SECRET_NAME.test(name))) return true;
  return typeof value === 'string' && (SECRET_TEXT.test(value) || isRandom(value));
}

const SECRET_NAME =
  /(?:pass(?:word|phrase|wd)?|pwd|secret|token|credential|authorization|cookie|(?:api|private|access)[-_]?key|(?:db|database|connection)_?(?:url|string))s?$/i;

/** A URL with a user, a header with a credential, a JSON web token, a PEM file, and `password=…`. */
const SECRET_TEXT =
  /:\/\/\S*@|^(?:bearer|basic|api_key)\s|^eyJ[\w-]+\.|-----BEGIN|(?:password|pwd|secret|token|api[-_]?key)\s*[=:]/i;

/** Whether a text has a long run of digits and letters, as generated keys and tokens have. */
function isRandom(text: string): boolean {
  const runs = text.match(/[\w+/=]{24,}/g) ?? [];
  return runs.some((run) => /\d/.test(run) && (/^[\da-f]+$/i.test(run) || (/[a-z]/.test(run) && /[A-Z]/.test(run))));
}
