import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { APIError } from './rest.ts';

/** What the pages have read. A refusal is final; a server that is away is asked again. */
export const queries = new QueryClient({
  queryCache: new QueryCache({
    // A refused reading of the permissions would otherwise begin the next one.
    onError: (error, { queryKey }) => queryKey[0] !== 'permissions' && readPermissionsAfter(error),
  }),
  mutationCache: new MutationCache({ onError: readPermissionsAfter }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 3 && !(error instanceof APIError && error.status < 500),
      retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 4_000),
    },
  },
});

/** A page that is refused something has offered it by permissions that are no longer those of the caller. */
function readPermissionsAfter(error: Error): void {
  if (error instanceof APIError && error.status === 403) void queries.invalidateQueries({ queryKey: ['permissions'] });
}
