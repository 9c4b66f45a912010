import { AppError } from '#shared/core/errors.ts';
import type { Identity } from './identity.ts';

/** Refuses what acts later as its caller, without those who bind the caller now: authors of `ai` nodes. */
export function requireNoBoundary({ boundBy = [] }: Pick<Identity, 'boundBy'>, what: string): void {
  if (boundBy.length === 0) return;
  throw new AppError(
    'PERMISSION_DENIED',
    `A tool of an ai node saves ${what} only in runs of the node's author: later it would act by the rights of the run's caller alone`,
  );
}
