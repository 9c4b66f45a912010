import { queryOptions } from '@tanstack/react-query';
import { QUESTIONS } from './reads.ts';
import { body, rest } from './rest.ts';

/** The open questions of a run that the caller may answer. The number of the last event tells that there may be others. */
export function questionsOfRunRead(tenantID: string, instanceID: string, seq: number) {
  return queryOptions({
    queryKey: ['requests', tenantID, 'run', instanceID, seq],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { status: 'PENDING', instanceID, pageSize: QUESTIONS } } as const;
      return (await body(rest.GET('/api/v1/tenants/{tenantID}/workflows/data-collection', { params }))).requests;
    },
  });
}

export function requestRead(tenantID: string, collectionRequestID: string) {
  return queryOptions({
    queryKey: ['request', tenantID, collectionRequestID],
    queryFn: async () => {
      const path = '/api/v1/tenants/{tenantID}/workflows/data-collection/{collectionRequestID}';
      return (await body(rest.GET(path, { params: { path: { tenantID, collectionRequestID } } }))).request;
    },
  });
}
