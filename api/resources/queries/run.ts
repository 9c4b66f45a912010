import type { z } from 'zod';
import { invalid, within } from '#shared/core/schema/issues.ts';
import { nextCursorOf, type ResultCursor, type ResultOwner, readResultPage } from '#shared/datasources/result-pages.ts';
import type { ApiContext } from '../../context/context.ts';
import { tenantRoute } from '../../context/routes.ts';
import type { Access } from '../../http/route/input.ts';
import { DataQueryResponse } from '../../queries/answer.ts';
import { askWorker, datasourceKeyOf, getEnabled } from '../../queries/ask-worker.ts';
import { getDataQuery } from './find.ts';
import {
  DataQueryID,
  DataQueryInputs,
  DataQueryRun,
  DataQueryTest,
  inputAliases,
  RunQuery,
  testAliases,
} from './schemas.ts';
import { checkTarget, targetAccess } from './target.ts';

/**
 * A run passes through these stages, in this order:
 *
 * 1. `runDataQuery` (here): finds the query, or a further page of an earlier result; `askWorker` (`api/queries/`) → `producer.request`.
 * 2. `request` (`shared/messaging/rpc.ts`): `acquirePermits`, `sendRequest`, `awaitReply`, `openReply`.
 * 3. `answerRequests` (`workers/processors/answer-requests.ts`): `claimRequest`, `openRequest`, `answerQueryRun`, `sendReply`.
 * 4. `queries.run` (`workers/datasources/queries/run.ts`; nodes of workflows begin here): `loadQuery`, `bindInputs`, the cache,
 *    `executeOnDatasource`, `applyTransform` or `storePages`, `recordRun`.
 * 5. `datasources.withConnection` (`workers/datasources/queries/datasources.ts`): `readDatasource`, then `connectionCache.use` with `openDatasource`.
 * 6. `connection.execute` (`workers/datasources/connectors/`): checks out a connection to the server (`pool.withConnection` or `shared.use`) and talks
 *    to its driver, for PostgreSQL `executeStatement` → `runPortal`.
 */
export const runDataQuery = tenantRoute({
  name: 'runQuery',
  method: 'post',
  path: '/queries/:dataQueryID/run',
  summary: 'Run a data query',
  description:
    'Runs a stored data query and returns the first page of its result. With `cursor`, it returns the next page and runs nothing. With `explain`, it returns how the server would execute the query.',
  permission: 'dataquery.execute',
  object: ({ params }) => `dataquery:${params.dataQueryID}`,
  params: DataQueryID,
  query: RunQuery,
  takesData: true,
  body: DataQueryRun,
  aliases: inputAliases,
  response: DataQueryResponse,
  isPrivate: true,
  idempotent: 'outside',
  errors: ['409'],

  async handle({ params: { dataQueryID }, query: { explain, fresh }, body, idempotency, require, ...input }, context) {
    const { em, tenantID, caller, signal } = input;
    const stored = getEnabled(await getDataQuery(em, dataQueryID));
    if (body.cursor)
      return await readStoredPage(
        context,
        { tenantID, source: `dataquery:${dataQueryID}`, callerID: caller.id },
        body.cursor,
      );
    const sender = { tenantID, caller, signal, producer: context.messaging.producer };
    if (explain) await require([mayRead(dataQueryID)]);
    const mode = explain ? 'explain' : 'run';
    const idempotencyKey = idempotency ? datasourceKeyOf(tenantID, idempotency) : null;
    return askWorker(sender, { ...stored, inputs: body.inputs, mode, isFresh: fresh, isPaged: true, idempotencyKey });
  },
});

export const testStoredDataQuery = tenantRoute({
  name: 'testQuery',
  method: 'post',
  path: '/queries/:dataQueryID/queryTest',
  summary: 'Test a data query',
  description: 'Runs a stored data query and returns its result. The cache is not used.',
  permission: 'dataquery.test',
  object: ({ params }) => `dataquery:${params.dataQueryID}`,
  params: DataQueryID,
  query: RunQuery.omit({ fresh: true }),
  takesData: true,
  body: DataQueryInputs,
  aliases: inputAliases,
  response: DataQueryResponse,
  isPrivate: true,
  idempotent: false,
  errors: ['409', '502', '504'],

  async handle(
    { params, query: { explain }, body, em, tenantID, caller, signal, require },
    { messaging: { producer } },
  ) {
    const stored = getEnabled(await getDataQuery(em, params.dataQueryID));
    if (explain) await require([mayRead(params.dataQueryID)]);
    const sender = { tenantID, caller, signal, producer };
    return askWorker(sender, { ...stored, inputs: body.inputs, mode: explain ? 'explain' : 'run', isFresh: true });
  },
});

export const testGivenDataQuery = tenantRoute({
  name: 'testQueryByData',
  method: 'patch',
  path: '/queries/queryTest',
  summary: 'Run a data query that is not stored',
  description: 'Runs the given definition and returns its result. Nothing is stored.',
  access: ({ body: { dataQuery } }) => [
    { permission: 'dataquery.test', object: 'dataquery:*' },
    ...targetAccess(dataQuery),
  ],
  query: RunQuery.omit({ fresh: true }),
  takesData: true,
  body: DataQueryTest,
  aliases: testAliases,
  response: DataQueryResponse,
  isPrivate: true,
  errors: ['409', '502', '504'],

  async handle(
    { query: { explain }, body: { dataQuery, inputs }, reportUnknown, ...input },
    { messaging: { producer } },
  ) {
    const { em, tenantID, caller, signal } = input;
    const { target, issues, unknown } = await checkTarget(em, dataQuery);
    reportUnknown(unknown, ['dataQuery']);
    if (issues) throw invalid(within(['dataQuery'], issues));
    const { dataQueryOptions } = dataQuery;
    const query = { kind: 'given', ...target, dataQueryOptions } as const;
    const sender = { tenantID, caller, signal, producer };
    return askWorker(sender, {
      query,
      target,
      dataQueryOptions,
      inputs,
      mode: explain ? 'explain' : 'run',
      isFresh: true,
    });
  },
});

/** A plan tells what is in the query, so the caller must be allowed to read it. */
function mayRead(dataQueryID: string): Access {
  return { permission: 'dataquery.read', object: `dataquery:${dataQueryID}` };
}

/** A page of a result that an earlier run has stored. */
async function readStoredPage(
  context: Pick<ApiContext, 'pool' | 'secrets'>,
  owner: ResultOwner,
  cursor: ResultCursor,
): Promise<z.input<typeof DataQueryResponse>> {
  const began = performance.now();
  const rows = await readResultPage(context, owner, cursor);
  const durationMs = Math.round(performance.now() - began);
  return { dataQueryResult: rows, rowCount: rows.length, nextCursor: nextCursorOf(cursor), durationMs, isCached: true };
}
