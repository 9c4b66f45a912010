import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { tableNamesRead } from '../client/database.ts';
import { useMay } from '../client/may.ts';
import type { Offered } from '../code/offered.ts';

/** The type of the tenant's own database, whose tables the API lists. */
export const OWN = 'tenantdb';

/** Tables that fields for SQL complete, by the type of their datasource, where the caller may read them. */
export function useTablesOf(type: string, tenantID: string): Offered {
  const queries = useQueryClient();
  const isKnown = useMay()('database.metadata') && type === OWN;
  return useMemo(
    () => (isKnown ? { tables: () => queries.fetchQuery(tableNamesRead(tenantID)) } : {}),
    [isKnown, queries, tenantID],
  );
}
