import type { Request, Response } from 'express';
import { type Issue, invalid, within } from '#shared/workflow/issues.ts';
import { readPreferences } from './prefer.ts';
import { MAX_UNKNOWN_FIELDS, type UnknownFields } from './unknown-fields.ts';

/** How a request wants unknown fields treated (`Prefer: handling=strict` or `lenient`), and those found in it so far. */
export interface Handling {
  readonly isStrict: boolean;
  readonly unknown: UnknownFields;
}

/** Begins what `handlingOf` answers for the rest of the request. */
export function openHandling(request: Request, response: Response): Handling {
  const preference = readPreferences(request.get('prefer')).get('handling')?.toLowerCase();
  const isStrict = preference === 'strict';
  if (isStrict || preference === 'lenient') response.setHeader('preference-applied', `handling=${preference}`);
  const handling: Handling = { isStrict, unknown: { fields: [], count: 0 } };
  response.locals.handling = handling;
  return handling;
}

/** Lenient, with nothing found, for a request that no route has taken. */
export function handlingOf(response: Response): Handling {
  const { handling } = response.locals as { handling?: Handling };
  return handling ?? { isStrict: false, unknown: { fields: [], count: 0 } };
}

/** Notes unknown fields for the answer; with strict handling throws VALIDATION_ERROR instead. `at` leads to where they were found. */
export function reportUnknown(
  { isStrict, unknown }: Handling,
  found: UnknownFields,
  at: readonly (string | number)[] = [],
): void {
  if (found.count === 0) return;
  const fields = within(at, found.fields);
  if (isStrict) throw invalid(asIssues(fields));
  unknown.fields.push(...fields.slice(0, MAX_UNKNOWN_FIELDS - unknown.fields.length));
  unknown.count += found.count;
}

/** As an error lists them, with zod's name for such an issue. */
export function asIssues(fields: UnknownFields['fields']): Issue[] {
  return fields.map((field) => ({ ...field, type: 'unrecognized_keys' }));
}

/** What an answer says of them: nothing when there are none, and how many there are when they are not all listed. */
export function describeUnknown({ fields, count }: UnknownFields) {
  if (count === 0) return {};
  return { unknownFields: fields, ...(count > fields.length && { unknownFieldCount: count }) };
}
