import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import { ownRead } from '#shared/db/unavailable-store.ts';
import type { QueryRequest } from './queries.ts';

export interface LoadedQuery {
  /** Null for a query that is not stored. */
  dataQueryID: string | null;
  /** Null if the type of the query needs no stored datasource. */
  datasourceID: string | null;
  datasourceType: string;
  /** Changes with every change of the datasource. */
  datasourceVersion: string | null;
  dataQueryOptions: JsonObject;
}

/** The stored query, or the one in the request itself. */
export async function loadQuery(pool: Pool, { tenantID, query }: QueryRequest): Promise<LoadedQuery> {
  if (query.kind === 'given') {
    const { datasourceID, datasourceType, dataQueryOptions } = query;
    return { dataQueryID: null, datasourceID, datasourceType, datasourceVersion: null, dataQueryOptions };
  }
  const { rows } = await ownRead(() => pool.query<Row>(FIND, [query.dataQueryID, tenantID]));
  const [row] = rows;
  if (!row) throw new AppError('NOT_FOUND', 'Data query not found');
  if (row.is_disabled) throw new AppError('CONFLICT', 'The data query is disabled');
  return {
    dataQueryID: query.dataQueryID,
    datasourceID: row.datasource_id,
    datasourceType: row.datasource_type,
    datasourceVersion: row.datasource_version,
    dataQueryOptions: row.data_query_options,
  };
}

interface Row {
  datasource_id: string | null;
  datasource_type: string;
  data_query_options: JsonObject;
  is_disabled: boolean;
  datasource_version: string | null;
}

const FIND = `
select q.datasource_id, q.datasource_type, q.data_query_options, q.is_disabled, d.updated_at::text as datasource_version
from data_query q left join datasource d on d.id = q.datasource_id where q.id = $1 and q.tenant_id = $2`;
