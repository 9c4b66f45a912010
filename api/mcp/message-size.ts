import { AppError } from '#shared/core/errors.ts';
import { hasMoreParts, isJsonObject } from '#shared/core/json.ts';
import { refuseManyNames } from '../tools/argument-names.ts';

/** Parts of a message, not counting the arguments of a call. */
const MAX_PARTS = 1_000;

/**
 * Refuses messages that the library of the protocol would work on for seconds: several times and without a pause, it walks through
 * all of a message except the values of arguments.
 */
export function refuseManyParts(message: unknown): void {
  if (!isJsonObject(message)) return;
  const { method, params } = message;
  const args = method === 'tools/call' && isJsonObject(params) ? params.arguments : undefined;
  if (isJsonObject(args)) refuseManyNames(args);
  if (hasMoreParts(message, MAX_PARTS, isJsonObject(args) ? args : undefined))
    throw new AppError('VALIDATION_ERROR', `message: has more than ${MAX_PARTS} parts beside the arguments of a call`);
}
