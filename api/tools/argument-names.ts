import { AppError } from '#shared/core/errors.ts';

/** No tool has a tenth of it. */
export const MAX_NAMES = 1_000;

/** Names of arguments are gone through at once and several times. What is within an argument is not: its route looks at that in turns. */
export function refuseManyNames(args: object): void {
  if (Object.keys(args).length > MAX_NAMES)
    throw new AppError('VALIDATION_ERROR', `arguments: a tool has at most ${MAX_NAMES} of them`);
}
