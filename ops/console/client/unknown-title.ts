import { APIError } from './rest.ts';

/** Why a title is not known: the API says of what does not exist, and of what the caller may not see, different things. */
export function reasonOf(error: Error | null): 'gone' | 'hidden' | 'unknown' | undefined {
  if (!error) return undefined;
  if (!(error instanceof APIError)) return 'unknown';
  if (error.status === 404) return 'gone';
  return error.status === 403 ? 'hidden' : 'unknown';
}
