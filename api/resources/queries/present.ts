import type { z } from 'zod';
import type { DataQuery as DataQueryEntity } from '#shared/entities/tables/data-query.ts';
import type { QueryRun } from '#shared/entities/tables/query-run.ts';
import type { DataQuery, Runs } from './schemas.ts';

export function presentDataQuery(query: DataQueryEntity): z.input<typeof DataQuery> {
  const { id, tenantID, dataQueryTitle, dataQueryOptions, datasourceType, runOnLoad, isDisabled, creatorID } = query;
  return {
    id,
    dataQueryID: id,
    tenantID,
    dataQueryTitle,
    dataQueryDescription: query.dataQueryDescription ?? null,
    dataQueryOptions,
    datasourceID: query.datasourceID ?? null,
    datasourceType,
    runOnLoad,
    isDisabled,
    isOfferedAsTool: query.isOfferedAsTool,
    folderID: query.folderID ?? null,
    creatorID,
    createdByApiKeyID: query.createdByApiKeyID ?? null,
    createdAt: query.createdAt.toISOString(),
    updatedAt: query.updatedAt.toISOString(),
  };
}

export function presentRun(run: QueryRun, dataQueryID: string): z.input<typeof Runs>['runs'][number] {
  const { id, datasourceType, caller, durationMs, isCached, errorCode } = run;
  return {
    queryRunID: id,
    dataQueryID,
    datasourceID: run.datasourceID ?? null,
    datasourceType,
    caller,
    startedAt: run.startedAt.toISOString(),
    durationMs,
    rowCount: run.rowCount ?? null,
    isCached,
    error: errorCode ? { code: errorCode, message: run.errorMessage ?? '' } : null,
  };
}
