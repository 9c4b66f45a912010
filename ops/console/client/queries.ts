import { QueryClient } from '@tanstack/react-query';
import { APIError } from './rest.ts';

/** What the pages have read. A refusal is final; a server that is away is asked again. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 3 && !(error instanceof APIError && error.status < 500),
      retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 4_000),
    },
  },
});
