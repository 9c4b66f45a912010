import type { Request, Response } from 'express';
import { type Issue, invalid, within } from '#shared/core/schema/issues.ts';
import { readPreferences } from './prefer.ts';
import { MAX_UNKNOWN_FIELDS, type UnknownFields } from './unknown-fields.ts';

/** How a request wants unknown fields treated (`Prefer: handling=strict` or `lenient`), and those found in it so far. */
export interface UnknownFieldPolicy {
  readonly isStrict: boolean;
  readonly unknown: UnknownFields;
}

/** Reads the preference of the request and keeps it for `unknownFieldPolicyOf`. */
export function openUnknownFieldPolicy(request: Request, response: Response): UnknownFieldPolicy {
  const preference = readPreferences(request.get('prefer')).get('handling')?.toLowerCase();
  const isStrict = preference === 'strict';
  if (isStrict || preference === 'lenient') response.setHeader('preference-applied', `handling=${preference}`);
  const unknownFieldPolicy: UnknownFieldPolicy = { isStrict, unknown: { fields: [], count: 0 } };
  response.locals.unknownFieldPolicy = unknownFieldPolicy;
  return unknownFieldPolicy;
}

/** The policy for clients that may send any fields: nothing is asked, and no preference is honoured. */
export function lenientPolicy(): UnknownFieldPolicy {
  return { isStrict: false, unknown: { fields: [], count: 0 } };
}

/** The policy of this request; lenient if no route has matched it. */
export function unknownFieldPolicyOf(response: Response): UnknownFieldPolicy {
  const { unknownFieldPolicy } = response.locals as { unknownFieldPolicy?: UnknownFieldPolicy };
  return unknownFieldPolicy ?? lenientPolicy();
}

/** Adds unknown fields to the response, or throws VALIDATION_ERROR if handling is strict. `at` is the path of the value they are in. */
export function reportUnknown(
  { isStrict, unknown }: UnknownFieldPolicy,
  found: UnknownFields,
  at: readonly (string | number)[] = [],
): void {
  if (found.count === 0) return;
  const fields = within(at, found.fields);
  if (isStrict) throw invalid(asIssues(fields));
  unknown.fields.push(...fields.slice(0, MAX_UNKNOWN_FIELDS - unknown.fields.length));
  unknown.count += found.count;
}

/** Converts unknown fields to issues of an error, with zod's code for them. */
export function asIssues(fields: UnknownFields['fields']): Issue[] {
  return fields.map((field) => ({ ...field, type: 'unrecognized_keys' }));
}

/** The fields to add to a response: none if nothing was unknown, with a count if not all are listed. */
export function describeUnknown({ fields, count }: UnknownFields) {
  if (count === 0) return {};
  return { unknownFields: fields, ...(count > fields.length && { unknownFieldCount: count }) };
}
