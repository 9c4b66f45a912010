import { AppError } from '#shared/core/errors.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { QueryResult } from '../../connections/connection.ts';
import type { Sandbox } from '../../sandbox/pool.ts';
import type { RunnableQuery } from './bind-inputs.ts';
import type { QueryRequest } from './queries.ts';

const TRANSFORM_MS = 10_000;

/** The result as the query's script changes it; the same result without a script. */
export async function applyTransform(
  sandbox: Sandbox,
  { options, inputs }: RunnableQuery,
  { result, request: { tenantID, signal } }: { result: QueryResult; request: QueryRequest },
): Promise<QueryResult> {
  if (options.transform.trim() === '') return result;
  const data = await sandbox
    .run({ tenantID, code: options.transform, args: { data: result.data, inputs }, timeoutMs: TRANSFORM_MS }, signal)
    .catch((error: unknown) => {
      throw transformError(error);
    });
  // The script may have changed the columns and the number of rows.
  const { columns: _columns, rowCount: _rowCount, ...rest } = result;
  return { ...rest, data };
}

/** Reports an error of the script as one of the query. `sent`: the datasource has executed the query before. */
function transformError(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const options = { cause: error, details: { sent: true } };
  if (!scriptFaults.has(error.code)) return new AppError(error.code, error.message, { ...options, retry: error.retry });
  return invalidField('dataQueryOptions.transform', error.message, options);
}

const scriptFaults: ReadonlySet<string> = new Set([
  'NODE_FAILED',
  'NODE_TIMEOUT',
  'INVALID_OUTPUT',
  'OUTPUT_TOO_LARGE',
]);
