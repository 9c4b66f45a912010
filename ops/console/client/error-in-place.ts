import { isRefusal } from './rest.ts';

interface Read {
  data: unknown;
  error: Error | null;
}

/**
 * The error that a page shows in place of what it has read. A page that has data keeps them, and with them what a person has typed,
 * while its server is away; what the caller may no longer see goes.
 */
export function errorInPlaceOf(...reads: readonly Read[]): Error | null {
  return reads.find(({ data, error }) => error && (data === undefined || isRefusal(error)))?.error ?? null;
}
