import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { JsonObject } from '../json.ts';
import type { Issue } from './issues.ts';

export type InputsByName<Name extends string> = Readonly<Partial<Record<Name, JsonObject | undefined>>>;
type Names<Name extends string> = readonly [Name, Name];

/** Inputs that a request gives by either of two names; the first is preferred. */
export function givenInputs<Name extends string>(
  given: InputsByName<Name> | undefined,
  names: Names<Name>,
  check: Pick<z.RefinementCtx, 'addIssue'>,
): JsonObject | undefined {
  const issue = given && differing(given, names);
  if (issue) check.addIssue({ code: 'custom', ...issue });
  const [name, other] = names;
  return given?.[name] ?? given?.[other];
}

/** Two values that differ are an error: one of them would be ignored. */
export function differing<Name extends string>(
  given: Readonly<Partial<Record<Name, unknown>>>,
  [name, other]: Names<Name>,
): Issue | undefined {
  if (given[name] === undefined || given[other] === undefined) return undefined;
  if (isDeepStrictEqual(given[name], given[other])) return undefined;
  return { path: [other], message: `differs from \`${name}\`: expected one of the two` };
}
