import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { every } from './every.ts';
import { body, rest } from './rest.ts';

/** Calls over MCP that wait for a person, or all that have waited. */
export function toolCallsRead(tenantID: string, { isWaiting, cursor }: { isWaiting: boolean; cursor?: string }) {
  return queryOptions({
    queryKey: ['tool-calls', tenantID, isWaiting, cursor ?? ''],
    queryFn: () => {
      // A tenant has at most 100 waiting calls, and their number is shown.
      const query = isWaiting ? { waiting: 'true' as const, pageSize: 100 } : { limit: 50, ...(cursor && { cursor }) };
      return body(rest.GET('/api/v1/tenants/{tenantID}/tool-approvals', { params: { path: { tenantID }, query } }));
    },
    placeholderData: keepPreviousData,
    refetchInterval: every(20_000),
  });
}
