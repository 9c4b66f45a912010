import { invalid } from '#shared/core/schema/issues.ts';
import type { DataQuery } from '#shared/entities/tables/data-query.ts';
import { requireFolder } from '../../assets/folders.ts';
import { announceOffered } from '../../assets/offered-tools.ts';
import { tenantRoute } from '../../context/routes.ts';
import { getDataQuery } from './find.ts';
import { presentDataQuery } from './present.ts';
import { Changed, DataQueryID, DataQueryUpdate } from './schemas.ts';
import { checkTarget, targetAccess } from './target.ts';

export const updateDataQuery = tenantRoute({
  name: 'updateQuery',
  method: 'patch',
  path: '/queries/:dataQueryID',
  summary: 'Update a data query',
  description: 'Fields that are left out stay as they are. Options are given as a whole.',
  permission: 'dataquery.update',
  object: ({ params }) => `dataquery:${params.dataQueryID}`,
  params: DataQueryID,
  body: DataQueryUpdate,
  response: Changed,

  async handle({ params, body, em, tenantID, require, reportUnknown }, context) {
    const changed = await em.transactional(async (tx) => {
      const query = await getDataQuery(tx, params.dataQueryID, { lock: true });
      const next = change(query, body);
      if (next) {
        // Needed even if the datasource stays: a changed statement may read anything in it.
        await require(targetAccess(next));
        const { target, issues, unknown } = await checkTarget(tx, next);
        if (body.dataQueryOptions) reportUnknown(unknown);
        if (issues) throw invalid(issues);
        tx.assign(query, { ...target, dataQueryOptions: next.dataQueryOptions });
      }
      const { dataQueryTitle, dataQueryDescription, runOnLoad, isDisabled, isOfferedAsTool, folderID } = body;
      const changes = { dataQueryTitle, dataQueryDescription, runOnLoad, isDisabled, isOfferedAsTool, folderID };
      await requireFolder(tx, 'dataQuery', folderID);
      tx.assign(query, changes, { ignoreUndefined: true });
      await tx.flush();
      return { dataQuery: presentDataQuery(query), message: 'Data query updated' };
    });
    const isOffered = changed.dataQuery.isOfferedAsTool || body.isOfferedAsTool !== undefined;
    announceOffered(context, { em, tenantID, isOffered });
    return changed;
  },
});

/** Target of the query after the change; undefined when the body does not change it. */
function change(query: DataQuery, { datasourceID, datasourceType, dataQueryOptions }: DataQueryUpdate) {
  if (datasourceID === undefined && datasourceType === undefined && !dataQueryOptions) return undefined;
  const isElsewhere = datasourceID !== undefined || datasourceType !== undefined;
  const before = { datasourceID: query.datasourceID, datasourceType: query.datasourceType };
  return {
    ...(isElsewhere
      ? { datasourceID: datasourceID === undefined ? query.datasourceID : datasourceID, datasourceType }
      : before),
    dataQueryOptions: dataQueryOptions ?? query.dataQueryOptions,
  };
}
