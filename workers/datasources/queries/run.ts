import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { queryRuns } from '#shared/messaging/queues/query-runs.ts';
import type { QueryResult } from '../../connections/connection.ts';
import { knownError } from '../../outbound/upstream-error.ts';
import { bindInputs, type RunnableQuery } from './bind-inputs.ts';
import { cacheKey } from './cache.ts';
import type { QueryContext } from './context.ts';
import { executeOnDatasource } from './execute-on-datasource.ts';
import { loadQuery } from './load-query.ts';
import type { Queries, QueryRequest } from './queries.ts';
import { type QueryOutcome, recordRun } from './record-run.ts';

/** Runs data queries: loadQuery, bindInputs, cache.read, executeOnDatasource, cache.write, recordRun. */
export function createQueries(context: QueryContext): Queries {
  return { run: (request) => run(context, request) };
}

async function run(context: QueryContext, request: QueryRequest): Promise<z.output<typeof queryRuns.response>> {
  const started = new Date();
  const began = performance.now();
  const loaded = await loadQuery(context.pool, request);
  const outcome = await outcomeOf(context.logger, async () => {
    const query = await bindInputs(loaded, request.inputs);
    return await withTimeout(query.options.timeoutSeconds, request.signal, (signal) =>
      readOrExecute(context, query, { ...request, signal }),
    );
  });
  const durationMs = Math.round(performance.now() - began);
  recordRun(context, loaded, { request, started, durationMs, outcome });
  if ('error' in outcome) throw outcome.error;
  const { data, ...rest } = outcome.result;
  return { dataQueryResult: data, ...rest, durationMs, isCached: outcome.isCached };
}

interface Answered {
  result: QueryResult;
  isCached: boolean;
}

/** Returns a cached result that has not expired; otherwise executes the query and caches its result. */
async function readOrExecute(context: QueryContext, query: RunnableQuery, request: QueryRequest): Promise<Answered> {
  const key = cacheKeyOf(query, request);
  if (key === undefined) return { result: await executeOnDatasource(context, query, request), isCached: false };
  const cached = request.isFresh ? undefined : await context.cache.read(key);
  if (cached) return { result: cached, isCached: true };
  const result = await executeOnDatasource(context, query, request);
  // The query was executed: it does not fail because its result could not be cached.
  await context.cache
    .write(key, request.tenantID, result, request.reuse?.seconds ?? query.options.cacheSeconds)
    .catch((error: unknown) => context.logger.warn({ err: error }, 'the answer of a query is not cached'));
  return { result, isCached: false };
}

/** Undefined if the answer is not cached. A query that is not stored is never cached, because it has no version of its datasource. */
function cacheKeyOf(query: RunnableQuery, { tenantID, mode, isOnce, reuse }: QueryRequest): string | undefined {
  const { dataQueryID, datasourceID, datasourceVersion, datasourceType, dataQueryOptions, options, inputs } = query;
  if (mode !== 'run' || isOnce || (reuse?.seconds ?? options.cacheSeconds) === 0 || dataQueryID === null)
    return undefined;
  return cacheKey({
    tenantID,
    datasource: [datasourceID, datasourceVersion],
    question: [datasourceType, dataQueryOptions, inputs, ...(reuse ? [reuse.scope] : [])],
  });
}

async function withTimeout<T>(
  seconds: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(seconds * 1000);
  try {
    return await work(AbortSignal.any([signal, timeout]));
  } catch (error) {
    // The error of a query that was never sent, such as one that got no connection, says more than the time limit.
    const hasNotBegun = error instanceof AppError && isJsonObject(error.details) && error.details.begun === false;
    if (!timeout.aborted || hasNotBegun) throw error;
    throw new AppError(
      'UPSTREAM_TIMEOUT',
      `The query took longer than ${seconds} s (its \`timeoutSeconds\`) and was stopped`,
      {
        cause: error,
        // An error that forbids a retry still forbids it after the time limit.
        ...(error instanceof AppError && { retry: error.retry }),
      },
    );
  }
}

async function outcomeOf(logger: Logger, work: () => Promise<Answered>): Promise<QueryOutcome> {
  try {
    return await work();
  } catch (error) {
    const known = knownError(error);
    if (known.code === 'INTERNAL_ERROR') logger.error({ err: error }, 'a query failed unexpectedly');
    return { error: known };
  }
}
