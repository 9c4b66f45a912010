import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DataQuery as DataQueryEntity } from '#shared/entities/tables/data-query.ts';
import { QueryRun } from '#shared/entities/tables/query-run.ts';
import { deleteAsset } from '../../assets/assets.ts';
import { announceOffered } from '../../assets/offered-tools.ts';
import { tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { cloneDataQuery } from './clone.ts';
import { createDataQueries, createDataQuery } from './create.ts';
import { describeDataQueries } from './describe.ts';
import { getDataQuery } from './find.ts';
import { generateDataQuery } from './generate.ts';
import { presentDataQuery, presentRun } from './present.ts';
import { runDataQuery, testGivenDataQuery, testStoredDataQuery } from './run.ts';
import { DataQueries, DataQuery, DataQueryID, DataQueryList, RunList, Runs } from './schemas.ts';
import { updateDataQuery } from './update.ts';

/** Fixed paths come before `:dataQueryID`, which would take them for an id. */
export const dataQueryRoutes = [
  tenantRoute({
    name: 'listQueries',
    method: 'get',
    path: '/queries',
    summary: 'List data queries',
    description: 'Returns the data queries the caller may read, newest first.',
    permission: 'dataquery.list',
    filter: true,
    query: DataQueryList,
    response: DataQueries,
    errors: ['413'],

    async handle({ query, em, visible }) {
      const { search, folderID, datasourceID } = query;
      const where: FilterQuery<DataQueryEntity> = {
        ...(await visible('dataquery.read')),
        ...(search && { dataQueryTitle: containing(search) }),
        ...(folderID && { folderID }),
        ...(datasourceID && { datasourceID }),
      };
      const { rows, fields } = await findPage(em, DataQueryEntity, { where, query, large: ['dataQueryOptions'] });
      return { dataQueries: rows.map(presentDataQuery), ...fields };
    },
  }),

  createDataQuery,
  createDataQueries,
  testGivenDataQuery,
  generateDataQuery,
  describeDataQueries,

  tenantRoute({
    name: 'getQuery',
    method: 'get',
    path: '/queries/:dataQueryID',
    summary: 'Get a data query',
    description: 'Returns a data query with its options.',
    permission: 'dataquery.read',
    object: ({ params }) => `dataquery:${params.dataQueryID}`,
    params: DataQueryID,
    response: z.object({ dataQuery: DataQuery, message: Message }),

    async handle({ params, em }) {
      return { dataQuery: presentDataQuery(await getDataQuery(em, params.dataQueryID)), message: 'Data query found' };
    },
  }),

  updateDataQuery,

  tenantRoute({
    name: 'deleteQuery',
    method: 'delete',
    path: '/queries/:dataQueryID',
    summary: 'Delete a data query',
    description: 'Deletes a data query.',
    permission: 'dataquery.delete',
    object: ({ params }) => `dataquery:${params.dataQueryID}`,
    params: DataQueryID,
    response: z.object({ message: Message }),

    async handle({ params, em, tenantID }, context) {
      const query = await getDataQuery(em, params.dataQueryID);
      await deleteAsset(em, 'dataquery', query);
      announceOffered(context, { em, tenantID, isOffered: query.isOfferedAsTool });
      return { message: 'Data query deleted' };
    },
  }),

  cloneDataQuery,
  testStoredDataQuery,
  runDataQuery,

  tenantRoute({
    name: 'listQueryRuns',
    method: 'get',
    path: '/queries/:dataQueryID/runs',
    summary: 'List the runs of a data query',
    description:
      'Returns the recent runs of a data query, newest first: the caller, the duration, the number of rows and the error.',
    permission: 'dataquery.read',
    object: ({ params }) => `dataquery:${params.dataQueryID}`,
    params: DataQueryID,
    query: RunList,
    response: Runs,

    async handle({ params, query, em }) {
      const { id: dataQueryID } = await getDataQuery(em, params.dataQueryID);
      const { rows, fields } = await findPage(em, QueryRun, { where: { dataQueryID }, query, newestBy: 'startedAt' });
      return { runs: rows.map((run) => presentRun(run, dataQueryID)), ...fields };
    },
  }),
];
