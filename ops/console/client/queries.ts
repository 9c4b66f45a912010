import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { APIError } from './rest.ts';
import { getSession, subscribe } from './session.ts';

/** The cache of read data. A refusal is final; a server that is away is asked again. */
export const queries = new QueryClient({
  queryCache: new QueryCache({
    onError(error, query) {
      // A refused reading of the permissions would otherwise begin the next one.
      if (query.queryKey[0] === 'permissions' || !isForbidden(error)) return;
      // The caller may no longer see data that was read before.
      query.setState({ data: undefined });
      readPermissionsAfter(error);
    },
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

// Data that one user has read must not be shown to the next one in the same tab.
let reader = getSession()?.email;
subscribe(() => {
  const email = getSession()?.email;
  if (email === reader) return;
  reader = email;
  queries.clear();
});

/** A page that is refused something has offered it by permissions that are no longer those of the caller. */
function readPermissionsAfter(error: Error): void {
  if (isForbidden(error)) void queries.invalidateQueries({ queryKey: ['permissions'] });
}

function isForbidden(error: Error): boolean {
  return error instanceof APIError && error.status === 403;
}

/** Reads the caller's permissions again, and if they are others, all that is shown. */
export async function readByPermissions(tenantID: string): Promise<void> {
  const queryKey = ['permissions', tenantID];
  const snapshot = () => JSON.stringify(queries.getQueriesData({ queryKey }));
  const before = snapshot();
  await queries.invalidateQueries({ queryKey });
  if (snapshot() === before) return;
  await queries.invalidateQueries({ predicate: ({ queryKey: [name] }) => name !== 'permissions' });
}
