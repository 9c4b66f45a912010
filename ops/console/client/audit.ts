import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { AuditFilter, AuditView } from './audit-filter.ts';
import { body, rest } from './rest.ts';

const AUDIT = '/api/v1/tenants/{tenantID}/audit';
const PAGE = 50;

export type AuditFormat = 'csv' | 'jsonl';

export function auditRead(tenantID: string, { entry: _, cursor, ...filter }: AuditView) {
  return queryOptions({
    queryKey: ['audit', tenantID, filter, cursor],
    queryFn: () => {
      const query = { ...queryOf(filter), ...(cursor && { cursor }), pageSize: PAGE };
      return body(rest.GET(AUDIT, { params: { path: { tenantID }, query } }));
    },
    placeholderData: keepPreviousData,
  });
}

export function verifyTrail(tenantID: string) {
  return body(rest.GET(`${AUDIT}/verify`, { params: { path: { tenantID } } }));
}

/** All entries that fit, as a file. */
export async function exportTrail(tenantID: string, filter: AuditFilter, format: AuditFormat): Promise<Blob> {
  const query = { ...queryOf(filter), format };
  return body<Blob>(rest.GET(`${AUDIT}/export`, { params: { path: { tenantID }, query }, parseAs: 'blob' }));
}

function queryOf({ status, changes, ...filter }: AuditFilter) {
  const only = changes && ({ changes: 'true' } as const);
  return { ...filter, ...only, ...(status && { status: status as 'success' }) };
}
