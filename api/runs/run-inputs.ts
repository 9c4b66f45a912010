import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { JsonObject } from '#shared/json.ts';
import type { Spellings } from '../http/spelling.ts';

export const runInputs = {
  args: JsonObject.optional().describe('The inputs of the run'),
  inputValues: JsonObject.optional().describe('Another name for `args`'),
};
export const runSpellings: Spellings = { args: ['args', 'inputValues'] };

/** The inputs by either name. Two that differ are an error: one of them would be ignored. */
export function argsOf(
  { args, inputValues }: { args?: JsonObject | undefined; inputValues?: JsonObject | undefined } = {},
  check: Pick<z.RefinementCtx, 'addIssue'>,
): JsonObject | undefined {
  if (args && inputValues && !isDeepStrictEqual(args, inputValues))
    check.addIssue({ code: 'custom', path: ['inputValues'], message: 'differs from `args`: expected one of the two' });
  return args ?? inputValues;
}
