import { hash } from 'node:crypto';
import type { z } from 'zod';
import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { QueryOptions } from '#shared/datasources/queries/options.ts';
import type { IdempotencyClaim } from '#shared/db/idempotency.ts';
import type { DataQuery } from '#shared/entities/tables/data-query.ts';
import { queryRuns } from '#shared/messaging/queues/query-runs.ts';
import type { RPC } from '#shared/messaging/rpc.ts';

interface RequestSender {
  tenantID: string;
  caller: Caller;
  signal: AbortSignal;
  producer: Pick<RPC, 'request'>;
}

interface RunOptions {
  query: z.input<typeof queryRuns.request>['query'];
  target: { datasourceID: string | null; datasourceType: string };
  dataQueryOptions: JsonObject;
  inputs: JsonObject;
  mode: 'run' | 'explain';
  isFresh: boolean;
  isPaged?: boolean;
  idempotencyKey?: string | null;
}

/** Time beyond the query's own limit, for the way to the worker and back. */
const WAY_MS = 5_000;

/** Runs a query, whose permissions have been checked. */
export function askWorker(
  { tenantID, caller, signal, producer }: RequestSender,
  { target, dataQueryOptions, ...run }: RunOptions,
) {
  const timeoutSeconds = QueryOptions.shape.timeoutSeconds.parse(dataQueryOptions.timeoutSeconds);
  return producer.request(
    queryRuns,
    { tenantID, caller, ...run },
    {
      timeoutMs: timeoutSeconds * 1_000 + WAY_MS,
      signal,
      limitKeys: { target: target.datasourceID ?? `${tenantID}.${target.datasourceType}`, tenant: tenantID },
    },
  );
}

/** A stored query, as `askWorker` takes it. */
export function getEnabled({
  id: dataQueryID,
  isDisabled,
  datasourceID = null,
  datasourceType,
  dataQueryOptions,
}: DataQuery) {
  if (isDisabled) throw new AppError('CONFLICT', 'The data query is disabled');
  const query = { kind: 'stored', dataQueryID } as const;
  return { query, target: { datasourceID, datasourceType }, dataQueryOptions };
}

/** The key that the datasource gets. The client's own key is unique only for its principal and route. */
export function datasourceKeyOf(tenantID: string, { principal, route, key }: IdempotencyClaim): string {
  return hash('sha256', JSON.stringify([tenantID, principal, route, key]), 'base64url');
}
