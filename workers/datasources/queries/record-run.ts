import type { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { storable } from '#shared/db/storable.ts';
import type { QueryResult } from '../../connections/connection.ts';
import type { QueryContext } from './context.ts';
import type { LoadedQuery } from './load-query.ts';
import type { QueryRequest } from './queries.ts';

export type QueryOutcome = { result: QueryResult; isCached: boolean } | { error: AppError };

interface FinishedRun {
  request: QueryRequest;
  started: Date;
  durationMs: number;
  outcome: QueryOutcome;
}

/** Writes the row of the run. The answer does not wait for it, and does not fail with it. */
export function recordRun(
  { pool, logger }: QueryContext,
  { dataQueryID, datasourceID, datasourceType }: LoadedQuery,
  { request: { tenantID, caller, mode }, started, durationMs, outcome }: FinishedRun,
): void {
  if (mode === 'explain') return;
  const values = [newID(), tenantID, dataQueryID, datasourceID, datasourceType, JSON.stringify(caller), started];
  pool
    .query(RECORD_RUN, [...values, durationMs, ...columnsOf(outcome)])
    .catch((error: unknown) => logger.warn({ err: error }, 'the run of a query is not recorded'));
}

/** Values of the columns `row_count`, `is_cached`, `error_code` and `error_message`. */
function columnsOf(outcome: QueryOutcome) {
  if ('error' in outcome) return [null, false, outcome.error.code, storable(outcome.error.message.slice(0, 2_000))];
  const { totalCount, rowCount, affectedRows } = outcome.result;
  return [totalCount ?? rowCount ?? affectedRows ?? null, outcome.isCached, null, null];
}

const RECORD_RUN = `
insert into query_run (id, tenant_id, data_query_id, datasource_id, datasource_type, caller, started_at, duration_ms,
                       row_count, is_cached, error_code, error_message)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`;
