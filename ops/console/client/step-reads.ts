import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

export function logsRead(ids: { tenantID: string; instanceID: string }, nodeID: string | undefined, seq: number) {
  return infiniteQueryOptions({
    // Read again when the run has gone on.
    queryKey: ['logs', ids, nodeID, seq],
    queryFn: ({ pageParam: cursor }) => {
      const path = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}/logs';
      const query = { ...(nodeID !== undefined && { nodeID }), ...(cursor !== null && { cursor }) };
      return body(rest.GET(path, { params: { path: ids, query } }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  });
}

export function stepInputRead(
  ids: { tenantID: string; instanceID: string; nodeID: string },
  { frame, attempt }: { frame: Schemas['Frame']; attempt: number },
) {
  const iterations = frame.map(({ iteration }) => iteration).join('.');
  return queryOptions({
    queryKey: ['step-input', ids, iterations, attempt],
    queryFn: () => {
      const path = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}/nodes/{nodeID}/input';
      const query = { attempt, ...(iterations && { iterations }) };
      return body(rest.GET(path, { params: { path: ids, query } }));
    },
    staleTime: Number.POSITIVE_INFINITY,
    // It may have megabytes.
    gcTime: 30_000,
  });
}
