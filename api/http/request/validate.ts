import { z } from 'zod';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { AppError } from '#shared/core/errors.ts';
import { ofParsedJSON, ofStored } from '#shared/core/json.ts';
import { type Issue, invalid } from '#shared/core/schema/issues.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import { findUnstorable, TOO_DEEP, type Unstorable } from '#shared/core/unstorable.ts';
import { asIssues, reportUnknown, type UnknownFieldPolicy } from './unknown-field-policy.ts';
import { findUnknownFields, knowsNoKey, type UnknownFields } from './unknown-fields.ts';

/** A part of the request and its schema. */
interface Check {
  part: 'params' | 'query' | 'body';
  schema: z.ZodType | undefined;
  value: unknown;
  /**
   * Refuses a value with fields of which none is known: every field of an update is optional, so it would change
   * nothing.
   */
  isUpdate?: boolean;
  /** A value that a tenant had stored: the limit of new settings does not bind it. */
  isStored?: true | undefined;
  /** The place that cannot be stored, in a large value that is known to be JSON. Other values are not checked yet. */
  unstorable?: Unstorable | null;
}

/**
 * Parses each value with its schema, in order, or throws one VALIDATION_ERROR that lists the first issues. Unknown fields go into
 * the response, or among the issues if the client wants strict handling.
 */
export function validate(checks: readonly Check[], unknownFieldPolicy: UnknownFieldPolicy): unknown[] {
  return runSync(validation(checks, unknownFieldPolicy));
}

/** `validate` in steps, each of which takes about as long as parsing the JSON of the values. */
export function* validation(
  checks: readonly Check[],
  unknownFieldPolicy: UnknownFieldPolicy,
): Generator<void, unknown[]> {
  const issues: Issue[] = [];
  let unlisted = 0;
  const values: unknown[] = [];
  for (const check of checks) {
    const { value, issues: own, count: found = own.length } = yield* read(check);
    issues.push(...own);
    unlisted += Math.max(found - own.length, 0);
    yield;
    // A large value that is refused anyway is not searched for fields that its schema does not know: that would take longer than its parsing.
    const isEnough = own.length > 0 && check.unstorable !== undefined;
    const { fields, count } = isEnough ? NONE : refusedFields(check, unknownFieldPolicy);
    issues.push(...asIssues(fields));
    unlisted += count - fields.length;
    values.push(value);
  }
  if (issues.length > 0) throw invalid(issues, { count: issues.length + unlisted });
  return values;
}

function* read({
  part,
  schema,
  value,
  isStored,
  unstorable: known,
}: Check): Generator<void, { value?: unknown; issues: Issue[]; count?: number }> {
  if (!schema) return { issues: [] };
  const unstorable = known === undefined ? findUnstorable(value) : known;
  if (unstorable) {
    const path = unstorable.path.length > 0 ? unstorable.path : [part];
    return { issues: [{ ...unstorable, path, type: 'custom' }] };
  }
  yield;
  const parse = () =>
    known === undefined ? parseValue(schema, value) : ofParsedJSON(() => parseValue(schema, value, { isLarge: true }));
  const result = refuseTooDeep(() => (isStored ? ofStored(parse) : parse()));
  if (result.success) return { value: result.data, issues: [] };
  const issues = result.issues.map((issue) => (issue.path.length > 0 ? issue : { ...issue, path: [part] }));
  return { issues, count: result.count };
}

const NONE: UnknownFields = { fields: [], count: 0 };

/** Returns unknown fields that are errors; reports the others in the response. */
function refusedFields(
  { part, schema, value, isUpdate }: Check,
  unknownFieldPolicy: UnknownFieldPolicy,
): UnknownFields {
  // The path has only the parameters that its route names.
  if (part === 'params' || (part === 'body' && !schema)) return NONE;
  const reader = schema ?? NoFields;
  const unknown = refuseTooDeep(() => findUnknownFields([reader], value));
  if (unknownFieldPolicy.isStrict || (isUpdate && knowsNoKey(reader, value))) return unknown;
  reportUnknown(unknownFieldPolicy, unknown);
  return NONE;
}

/** The query of a route without parameters. */
const NoFields = z.object({});

/** Turns a stack overflow in a recursive `work`, caused by a deeply nested body, into a 400. */
export function refuseTooDeep<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new AppError('VALIDATION_ERROR', `body: ${TOO_DEEP}`, { cause: error });
  }
}
