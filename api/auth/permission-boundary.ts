import { AppError } from '#shared/core/errors.ts';
import type { Identity } from './identity.ts';

/**
 * Refuses to save an asset that acts later with its caller's permissions alone, if authors of `ai` nodes limit the
 * caller now.
 */
export function requireNoBoundary({ boundBy = [] }: Pick<Identity, 'boundBy'>, what: string): void {
  if (boundBy.length === 0) return;
  throw new AppError(
    'PERMISSION_DENIED',
    `A tool of an ai node saves ${what} only in runs of the node's author: later it would act by the rights of the run's caller alone`,
  );
}
