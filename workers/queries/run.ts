import type { KeyRing } from '#shared/crypto.ts';
import type { Pool } from '#shared/db/pool.ts';
import { AppError } from '#shared/errors.ts';
import { newID } from '#shared/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/json.ts';
import type { Logger } from '#shared/logger.ts';
import { type BoundQuery, bindQuery } from '#shared/queries/bind.ts';
import { QueryOptions } from '#shared/queries/options.ts';
import { nextCursorOf } from '#shared/result-pages.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { fromZod, invalid } from '#shared/workflow/issues.ts';
import type { Connection, QueryResult, QueryRun } from '../connections/connection.ts';
import { createResultPages } from '../connections/result-pages.ts';
import { knownError } from '../outbound/upstream-error.ts';
import type { Sandbox } from '../sandbox/pool.ts';
import { cacheKey, type QueryCache } from './cache.ts';
import { type DatasourceRef, type Datasources, definitionOf } from './datasources.ts';
import type { Queries, QueryRequest } from './queries.ts';

export interface QueryNeeds {
  pool: Pool;
  secrets: KeyRing;
  datasources: Datasources;
  cache: QueryCache;
  sandbox: Sandbox;
  logger: Logger;
}

interface Loaded {
  dataQueryID: string | null;
  datasourceID: string | null;
  datasourceType: string;
  /** Another one after each change of the datasource. */
  datasourceVersion: string | null;
  dataQueryOptions: JsonObject;
}

/** What is known of a query once its inputs are in place. */
interface Prepared extends Loaded {
  options: QueryOptions;
  inputs: JsonObject;
  bound: BoundQuery;
}

export function createQueries(needs: QueryNeeds): Queries {
  const { datasources, cache, sandbox, logger } = needs;

  async function answer(prepared: Prepared, request: QueryRequest, signal: AbortSignal): Promise<Answered> {
    const { tenantID, mode, isFresh } = request;
    const { options, inputs, datasourceID } = prepared;
    // What is not stored may name a datasource as it was at another time.
    const isCacheable = mode === 'run' && options.cacheSeconds > 0 && prepared.dataQueryID !== null;
    const run = { signal, maxRows: options.maxRows, idempotencyKey: request.idempotencyKey };
    if (!isCacheable) return { result: await asked(prepared, request, run), isCached: false };

    const key = cacheKey({
      tenantID,
      datasource: [datasourceID, prepared.datasourceVersion],
      asked: [prepared.datasourceType, prepared.dataQueryOptions, inputs],
    });
    if (!isFresh) {
      const kept = await cache.read(key);
      if (kept) return { result: kept, isCached: true };
    }
    const result = await asked(prepared, request, run);
    await cache.write(key, tenantID, result, options.cacheSeconds);
    return { result, isCached: false };
  }

  async function asked(prepared: Prepared, request: QueryRequest, run: QueryRun): Promise<QueryResult> {
    const ref = refOf(prepared, request.tenantID);
    const { bound, options, dataQueryID } = prepared;
    if (request.mode === 'explain') return await datasources.use(ref, (connection) => explain(connection, bound, run));
    const ask = (more: Partial<QueryRun> = {}) =>
      datasources.use(ref, (connection) => connection.run(bound as never, { ...run, ...more }));
    // A query that is not stored has no place where further pages could be asked for.
    if (options.rowsPerPage === 0 || !request.isPaged || dataQueryID === null)
      return await transform(await ask(), prepared, request, run.signal);

    const owner = { tenantID: request.tenantID, source: `dataquery:${dataQueryID}`, callerID: request.caller.id };
    await using paged = createResultPages(needs, owner, options.rowsPerPage);
    const onRows = (rows: JsonObject[]) => paged.add(rows).catch((error: unknown) => Promise.reject(knownError(error)));
    const result = await ask({ onRows });
    if (!Array.isArray(result.data)) return result;
    await paged.add(result.data);
    const { resultID, pages, firstPage: data, totalCount } = await paged.finish();
    return {
      ...result,
      data,
      rowCount: data.length,
      totalCount,
      nextCursor: nextCursorOf({ resultID, page: 1, pages }),
    };
  }

  async function transform(
    result: QueryResult,
    { options, inputs }: Prepared,
    { tenantID }: QueryRequest,
    signal: AbortSignal,
  ): Promise<QueryResult> {
    if (options.transform.trim() === '') return result;
    const data = await sandbox
      .run({ tenantID, code: options.transform, args: { data: result.data, inputs }, timeoutMs: TRANSFORM_MS }, signal)
      .catch((error: unknown) => {
        throw inTransform(error);
      });
    // What the columns said is no longer true of what the script has made of them.
    const { columns: _columns, rowCount: _rowCount, ...rest } = result;
    return { ...rest, data };
  }

  return {
    async run(request) {
      const started = new Date();
      const began = performance.now();
      const loaded = await load(needs.pool, request);
      const outcome = await attempt(async () => {
        const prepared = prepare(loaded, request.inputs);
        const limit = AbortSignal.timeout(prepared.options.timeoutSeconds * 1000);
        const signal = AbortSignal.any([request.signal, limit]);
        return await answer(prepared, request, signal).catch((error: unknown) => {
          throw inTime(error, limit, prepared.options.timeoutSeconds);
        });
      });
      const durationMs = Math.round(performance.now() - began);
      record(needs, request, loaded, { started, durationMs, outcome });
      if ('error' in outcome) throw outcome.error;
      const { data, ...rest } = outcome.result;
      return { dataQueryResult: data, ...rest, durationMs, isCached: outcome.isCached };
    },
  };

  function prepare(loaded: Loaded, values: JsonObject): Prepared {
    const parsed = QueryOptions.safeParse(loaded.dataQueryOptions);
    if (!parsed.success) throw invalid(fromZod(parsed.error));
    const options = parsed.data;
    const inputs = resolveInputs(options.inputDefinitions, values);
    const bound = bindQuery(definitionOf(loaded.datasourceType), loaded.dataQueryOptions, inputs);
    return { ...loaded, options, inputs, bound };
  }

  async function attempt(work: () => Promise<Answered>): Promise<Answered | { error: AppError }> {
    try {
      return await work();
    } catch (error) {
      const known = knownError(error);
      if (known.code === 'INTERNAL_ERROR') logger.error({ err: error }, 'a query failed unexpectedly');
      return { error: known };
    }
  }
}

interface Answered {
  result: QueryResult;
  isCached: boolean;
}

const TRANSFORM_MS = 10_000;

/** What is wrong with the script is the query's; by then it has been asked. */
function inTransform(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const options = { cause: error, details: { sent: true } };
  if (!ofScripts.has(error.code)) return new AppError(error.code, error.message, { ...options, retry: error.retry });
  return new AppError('VALIDATION_ERROR', `dataQueryOptions.transform: ${error.message}`, options);
}

const ofScripts: ReadonlySet<string> = new Set(['NODE_FAILED', 'NODE_TIMEOUT', 'INVALID_OUTPUT', 'OUTPUT_TOO_LARGE']);

async function load(pool: Pool, { tenantID, query }: QueryRequest): Promise<Loaded> {
  if (query.kind === 'given') {
    const { datasourceID, datasourceType, dataQueryOptions } = query;
    return { dataQueryID: null, datasourceID, datasourceType, datasourceVersion: null, dataQueryOptions };
  }
  const { rows } = await pool.query<{
    datasource_id: string | null;
    datasource_type: string;
    data_query_options: JsonObject;
    is_disabled: boolean;
    datasource_version: string | null;
  }>(
    `select q.datasource_id, q.datasource_type, q.data_query_options, q.is_disabled, d.updated_at::text as datasource_version
     from data_query q left join datasource d on d.id = q.datasource_id where q.id = $1 and q.tenant_id = $2`,
    [query.dataQueryID, tenantID],
  );
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

function refOf({ datasourceID, datasourceType }: Loaded, tenantID: string): DatasourceRef {
  if (datasourceID !== null) return { tenantID, datasourceID };
  return { tenantID, datasourceID, datasourceType, datasourceOptions: {} };
}

async function explain(connection: Connection<never>, bound: BoundQuery, run: QueryRun): Promise<QueryResult> {
  if (!connection.explain)
    throw new AppError('VALIDATION_ERROR', 'datasourceType: a query of this type cannot be explained');
  return { data: await connection.explain(bound as never, run) };
}

function inTime(error: unknown, limit: AbortSignal, seconds: number): unknown {
  const hasNotBegun = error instanceof AppError && isJsonObject(error.details) && error.details.begun === false;
  if (!limit.aborted || hasNotBegun) return error;
  return new AppError('UPSTREAM_TIMEOUT', `The query took longer than ${seconds} s and was stopped`, {
    cause: error,
    // What must not be tried again must not be because it was slow, either.
    ...(error instanceof AppError && { retry: error.retry }),
  });
}

/** Nobody waits for the record. */
function record(
  { pool, logger }: QueryNeeds,
  { tenantID, caller, mode }: QueryRequest,
  { dataQueryID, datasourceID, datasourceType }: Loaded,
  run: { started: Date; durationMs: number; outcome: Answered | { error: AppError } },
): void {
  if (mode === 'explain') return;
  const { outcome, started, durationMs } = run;
  const failure = 'error' in outcome ? outcome.error : null;
  const result = 'error' in outcome ? null : outcome;
  const rowCount: Json = result
    ? (result.result.totalCount ?? result.result.rowCount ?? result.result.affectedRows ?? null)
    : null;
  pool
    .query(
      `insert into query_run (id, tenant_id, data_query_id, datasource_id, datasource_type, caller, started_at, duration_ms,
                              row_count, is_cached, error_code, error_message)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
      [
        newID(),
        tenantID,
        dataQueryID,
        datasourceID,
        datasourceType,
        JSON.stringify(caller),
        started,
        durationMs,
        rowCount,
        result?.isCached ?? false,
        failure?.code ?? null,
        failure?.message.slice(0, 2_000) ?? null,
      ],
    )
    .catch((error: unknown) => logger.warn({ err: error }, 'the run of a query is not recorded'));
}
