import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { tableNamesRead } from '../client/database.ts';
import { useMay } from '../client/may.ts';
import { OWN } from '../client/own-database.ts';
import { datasourceTablesRead } from '../client/sources.ts';
import type { Offered } from '../code/offered.ts';

/** The database that SQL is sent to. */
export interface Source {
  tenantID: string;
  type: string;
  /** Absent: the tenant's own database. */
  datasourceID?: string | undefined;
}

/** Tables that fields for SQL complete, where the caller may read them. */
export function useTablesOf({ tenantID, type, datasourceID }: Source): Offered {
  const queries = useQueryClient();
  const mayReadOwn = useMay()('database.metadata');
  const mayReadSource = useMay(`datasource:${datasourceID ?? '*'}`)('datasource.read');
  return useMemo(() => {
    const quote = type === 'mysql' ? { quote: '`' as const } : {};
    if (datasourceID)
      return mayReadSource
        ? { ...quote, tables: () => queries.fetchQuery(datasourceTablesRead({ tenantID, datasourceID })) }
        : {};
    return type === OWN && mayReadOwn ? { tables: () => queries.fetchQuery(tableNamesRead(tenantID)) } : {};
  }, [tenantID, type, datasourceID, mayReadOwn, mayReadSource, queries]);
}
