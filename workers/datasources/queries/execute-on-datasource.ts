import type { JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { BoundQuery } from '#shared/datasources/queries/bind.ts';
import { nextCursorOf, type ResultOwner } from '#shared/datasources/result-pages.ts';
import { receiptFault } from '#shared/datasources/types/receipts.ts';
import type { Connection, ExecuteOptions, QueryResult } from '../../connections/connection.ts';
import { RefusedWrite } from '../../connections/refused-write.ts';
import { createResultPages } from '../../connections/result-pages.ts';
import { knownError } from '../../outbound/upstream-error.ts';
import { applyTransform } from './apply-transform.ts';
import type { RunnableQuery } from './bind-inputs.ts';
import type { QueryContext } from './context.ts';
import { type DatasourceRef, definitionOf } from './datasources.ts';
import type { QueryRequest } from './queries.ts';
import { queryError } from './query-error.ts';

/** Executes a query. The result is its plan, the first of its stored pages, or its answer as changed by the query's `transform`. */
export async function executeOnDatasource(
  context: QueryContext,
  query: RunnableQuery,
  request: QueryRequest,
): Promise<QueryResult> {
  const { bound, options, dataQueryID } = query;
  const ref = datasourceRefOf(query, request.tenantID);
  const { signal, idempotencyKey, isDryRun, isOnce = false } = request;
  const execution = { signal, maxRows: options.maxRows, idempotencyKey, isDryRun, isOnce };
  if (isDryRun) refuseWrite(query);
  if (isOnce) requireReceipts(query);
  const withConnection = (work: (connection: Connection<never>) => Promise<QueryResult>) =>
    context.datasources.withConnection(ref, (connection) =>
      work(connection).catch((error: unknown) => Promise.reject(queryError(error))),
    );
  if (request.mode === 'explain') return await withConnection((connection) => explain(connection, bound, execution));

  const execute = (overrides: Partial<ExecuteOptions> = {}) =>
    // The query was bound by the schema of its datasource's type, which is the type of the connection.
    withConnection(async (connection) => connection.execute(bound as never, { ...execution, ...overrides }));
  // Further pages belong to a stored query: one that is not stored has no route for them.
  if (options.rowsPerPage === 0 || !request.isPaged || dataQueryID === null)
    return await applyTransform(context.sandbox, query, { result: await execute(), request });
  const owner = { tenantID: request.tenantID, source: `dataquery:${dataQueryID}`, callerID: request.caller.id };
  return await storePages(context, owner, { rowsPerPage: options.rowsPerPage, execute });
}

function requireReceipts({ datasourceType }: RunnableQuery): void {
  const message = receiptFault(datasourceType);
  if (message !== undefined) throw invalidField('exactlyOnce', message);
}

interface Paging {
  rowsPerPage: number;
  execute(overrides: Partial<ExecuteOptions>): Promise<QueryResult>;
}

/** Stores the rows in pages while they come in; the first page is the result. */
async function storePages(
  context: QueryContext,
  owner: ResultOwner,
  { rowsPerPage, execute }: Paging,
): Promise<QueryResult> {
  await using paged = createResultPages(context, owner, rowsPerPage);
  const onRows = (rows: JsonObject[]) => paged.add(rows).catch((error: unknown) => Promise.reject(knownError(error)));
  const result = await execute({ onRows });
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

function refuseWrite({ datasourceType, bound }: RunnableQuery): void {
  // Safe: the query was parsed by the schema of this type.
  const write = definitionOf(datasourceType).writes(bound.query as never);
  if (write !== null) throw new RefusedWrite(write);
}

function datasourceRefOf({ datasourceID, datasourceType }: RunnableQuery, tenantID: string): DatasourceRef {
  if (datasourceID !== null) return { tenantID, datasourceID };
  return { tenantID, datasourceID, datasourceType, datasourceOptions: {} };
}

async function explain(
  connection: Connection<never>,
  bound: BoundQuery,
  execution: ExecuteOptions,
): Promise<QueryResult> {
  if (!connection.explain) throw invalidField('datasourceType', 'a query of this type cannot be explained');
  // The query is bound, as for `execute`, by the schema of the connection's type.
  return { data: await connection.explain(bound as never, execution) };
}
