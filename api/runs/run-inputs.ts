import type { z } from 'zod';
import { JsonObject } from '#shared/core/json.ts';
import { givenInputs, type InputsByName } from '#shared/core/schema/field-aliases.ts';
import type { FieldAliases } from '../http/fields/field-aliases.ts';

const names = ['args', 'inputValues'] as const;

export const runInputs = {
  args: JsonObject.optional().describe('The inputs of the run'),
  inputValues: JsonObject.optional().describe('Another name for `args`'),
};
export const runAliases: FieldAliases = { args: names };

/** The inputs, which a client may send by either name. */
export function argsOf(
  given: InputsByName<(typeof names)[number]> | undefined,
  check: Pick<z.RefinementCtx, 'addIssue'>,
): JsonObject | undefined {
  return givenInputs(given, names, check);
}
