import { AppError } from '#shared/core/errors.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { tenantRoute } from '../../context/routes.ts';
import { DataQueryResponse } from '../../queries/answer.ts';
import { askWorker, datasourceKeyOf, getEnabled } from '../../queries/ask-worker.ts';
import { openBinding } from './open-binding.ts';
import { PageInputs, QueryAlias, runAliases } from './run-schemas.ts';

export const runPageQuery = tenantRoute({
  name: 'runAppPageQuery',
  method: 'post',
  path: '/app-pages/:appPageID/queries/:queryAlias/run',
  summary: 'Run a data query of an app page',
  description:
    'Runs the data query that the page binds under this alias, as the creator of the page, and returns its result. The caller needs the permission to read the page, and may set the parameters whose values are templates in the page.',
  permission: 'appPage.read',
  object: ({ params }) => `appPage:${params.appPageID}`,
  params: QueryAlias,
  takesData: true,
  body: PageInputs,
  aliases: runAliases,
  response: DataQueryResponse,
  isPrivate: true,
  idempotent: 'outside',
  errors: ['409'],

  async handle({ params, body: given, em, tenantID, caller, idempotency, signal }, context) {
    const wanted = { appPageID: params.appPageID, type: 'query' as const, alias: params.queryAlias, given };
    const { id, inputs, caller: creator } = await openBinding({ em, tenantID, caller }, context, wanted);
    const query = await em.findOne(DataQuery, { id });
    if (!query) throw new AppError('NOT_FOUND', 'The data query that the page binds is gone');
    const idempotencyKey = idempotency ? datasourceKeyOf(tenantID, idempotency) : null;
    return askWorker(
      { tenantID, caller: creator, signal, producer: context.messaging.producer },
      { ...getEnabled(query), inputs, mode: 'run', isFresh: false, idempotencyKey },
    );
  },
});
