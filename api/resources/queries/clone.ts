import { newID } from '#shared/core/ids.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { createAsset } from '../../assets/assets.ts';
import { titleOfCopy } from '../../assets/copy-title.ts';
import { folderOfCopy } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { getDataQuery } from './find.ts';
import { presentDataQuery } from './present.ts';
import { Changed, DataQueryID } from './schemas.ts';
import { targetAccess } from './target.ts';

export const cloneDataQuery = tenantRoute({
  name: 'cloneQuery',
  method: 'post',
  path: '/queries/:dataQueryID/clone',
  summary: 'Clone a data query',
  description: 'Copies a data query.',
  access: ({ params }) => [
    { permission: 'dataquery.read', object: `dataquery:${params.dataQueryID}` },
    { permission: 'dataquery.create', object: 'dataquery:*' },
  ],
  params: DataQueryID,
  response: Changed,
  idempotent: 'transaction',

  async handle({ params, caller, em, require }) {
    const original = await getDataQuery(em, params.dataQueryID);
    await require(targetAccess(original));
    const { dataQueryDescription, dataQueryOptions, datasourceID, datasourceType } = original;
    const folderID = await folderOfCopy(em, 'dataQuery', original);
    const { runOnLoad, isDisabled } = original;
    const query = await createAsset(em, caller, 'dataquery', DataQuery, {
      id: newID(),
      dataQueryTitle: titleOfCopy(original.dataQueryTitle),
      dataQueryDescription,
      dataQueryOptions,
      datasourceID,
      datasourceType,
      runOnLoad,
      isDisabled,
      folderID,
    });
    return { dataQuery: presentDataQuery(query), message: 'Data query copied' };
  },
});
