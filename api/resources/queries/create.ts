import { z } from 'zod';
import type { Caller } from '#shared/core/caller.ts';
import { newID } from '#shared/core/ids.ts';
import { invalid } from '#shared/core/schema/issues.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { DataQuery as DataQueryEntity } from '#shared/entities/tables/data-query.ts';
import { createAsset } from '../../assets/assets.ts';
import { announceOffered } from '../../assets/offered-tools.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { presentDataQuery } from './present.ts';
import { Changed, DataQueriesCreate, DataQuery, DataQueryCreate } from './schemas.ts';
import { checkTarget, type QueryTarget, targetAccess } from './target.ts';

const creating = { permission: 'dataquery.create', object: 'dataquery:*' } as const;

export const createDataQuery = tenantRoute({
  name: 'createQuery',
  method: 'post',
  path: '/queries',
  summary: 'Create a data query',
  description: "Stores a query of a datasource. Without a datasource it is asked of the tenant's database.",
  status: 201,
  access: ({ body }) => [creating, ...targetAccess(body)],
  body: DataQueryCreate,
  response: Changed,
  idempotent: 'transaction',

  async handle({ body, caller, em, tenantID, newAssetID, reportUnknown }, context) {
    const { target, issues, unknown } = await checkTarget(em, body);
    reportUnknown(unknown);
    if (issues) throw invalid(issues);
    const query = await write(em, { caller, id: newAssetID(), body }, target);
    announceOffered(context, { em, tenantID, isOffered: query.isOfferedAsTool });
    return { dataQuery: presentDataQuery(query), message: 'Data query created' };
  },
});

export const createDataQueries = tenantRoute({
  name: 'createQueries',
  method: 'post',
  path: '/queries/bulk',
  summary: 'Create data queries',
  description: 'Creates all of the data queries or none. An error names the position in the list.',
  status: 201,
  access: ({ body }) => [creating, ...body.flatMap(targetAccess)],
  body: DataQueriesCreate,
  response: z.object({ dataQueries: z.array(DataQuery), message: Message }),
  idempotent: 'transaction',

  async handle({ body, caller, em, tenantID, reportUnknown }, context) {
    const checked = [];
    for (const item of body) checked.push({ item, ...(await checkTarget(em, item)) });
    for (const [index, { unknown }] of checked.entries()) reportUnknown(unknown, [index]);
    const issues = checked.flatMap(({ issues = [] }, index) =>
      issues.map((issue) => ({ ...issue, path: [index, ...issue.path] })),
    );
    if (issues.length > 0) throw invalid(issues);
    const dataQueries = [];
    for (const { item, target } of checked)
      if (target) dataQueries.push(presentDataQuery(await write(em, { caller, id: newID(), body: item }, target)));
    announceOffered(context, { em, tenantID, isOffered: dataQueries.some((one) => one.isOfferedAsTool) });
    return { dataQueries, message: `${dataQueries.length} data queries created` };
  },
});

function write(
  em: EntityManager,
  { caller, id, body }: { caller: Caller; id: string; body: DataQueryCreate },
  target: QueryTarget,
): Promise<DataQueryEntity> {
  const { dataQueryTitle, dataQueryDescription, dataQueryOptions, folderID } = body;
  const { runOnLoad = false, isDisabled = false, isOfferedAsTool = false } = body;
  return createAsset(em, caller, 'dataquery', DataQueryEntity, {
    id,
    dataQueryTitle,
    dataQueryDescription,
    dataQueryOptions,
    ...target,
    runOnLoad,
    isDisabled,
    isOfferedAsTool,
    folderID,
  });
}
