import { AppError } from '#shared/core/errors.ts';

/** Arguments that a call may have: more than ten times those of any tool. */
export const MAX_NAMES = 1_000;

/**
 * Rejects a call with too many arguments. Names of arguments are processed synchronously, and several times. Names
 * within an argument need no limit here: the route processes those in steps.
 */
export function refuseManyNames(args: object): void {
  if (Object.keys(args).length > MAX_NAMES)
    throw new AppError('VALIDATION_ERROR', `arguments: a tool has at most ${MAX_NAMES} of them`);
}
