import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { Datasource as DatasourceEntity } from '#shared/entities/tables/datasource.ts';
import { datasourceMetadata } from '#shared/messaging/queues/datasource-metadata.ts';
import { tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { readTables } from '../../queries/read-tables.ts';
import { cloneDatasource } from './clone.ts';
import { createDatasource } from './create.ts';
import { deleteDatasource } from './delete.ts';
import { describeDatasources } from './describe.ts';
import { getDatasource } from './find.ts';
import { presentDatasource } from './present.ts';
import { Datasource, DatasourceID, DatasourceList, Datasources, Metadata, MetadataQuery, Tables } from './schemas.ts';
import { testGivenDatasource, testStoredDatasource } from './test-connection.ts';
import { updateDatasource } from './update.ts';
import { readUsage } from './usage.ts';

/** Fixed paths come before `:datasourceID`, which would take them for an id. */
export const datasourceRoutes = [
  tenantRoute({
    name: 'listDatasources',
    method: 'get',
    path: '/datasources',
    summary: 'List datasources',
    description: 'Returns the datasources the caller may read, newest first.',
    permission: 'datasource.list',
    filter: true,
    query: DatasourceList,
    response: Datasources,
    errors: ['413'],

    async handle({ query, em, visible }, { secrets }) {
      const { search, folderID, datasourceType } = query;
      const where: FilterQuery<DatasourceEntity> = {
        ...(await visible('datasource.read')),
        ...(search && { datasourceTitle: containing(search) }),
        ...(folderID && { folderID }),
        ...(datasourceType && { datasourceType }),
      };
      const { rows, fields } = await findPage(em, DatasourceEntity, {
        where,
        query,
        large: ['datasourceOptions', 'datasourceTags'],
      });
      return { datasources: rows.map((row) => presentDatasource(row, secrets)), ...fields };
    },
  }),

  createDatasource,
  testGivenDatasource,
  describeDatasources,

  tenantRoute({
    name: 'getDatasource',
    method: 'get',
    path: '/datasources/:datasourceID',
    summary: 'Get a datasource',
    description: 'Returns a datasource. Its secrets are masked.',
    permission: 'datasource.read',
    object: ({ params }) => `datasource:${params.datasourceID}`,
    params: DatasourceID,
    response: z.object({ datasource: Datasource, message: Message }),

    async handle({ params, em }, { secrets }) {
      return {
        datasource: presentDatasource(await getDatasource(em, params.datasourceID), secrets),
        message: 'Datasource found',
      };
    },
  }),

  updateDatasource,
  deleteDatasource,
  cloneDatasource,
  testStoredDatasource,

  tenantRoute({
    name: 'getDatasourceMetadata',
    method: 'get',
    path: '/datasources/:datasourceID/metadata',
    summary: 'Browse a datasource',
    description:
      'Returns what a datasource has at a path: schemas, tables and columns, or what its type has in their place.',
    permission: 'datasource.read',
    object: ({ params }) => `datasource:${params.datasourceID}`,
    params: DatasourceID,
    query: MetadataQuery,
    response: Metadata,
    errors: ['409', '502', '504'],

    async handle({ params, query: { path }, em, tenantID, signal }, { messaging: { producer } }) {
      const { id: datasourceID } = await getDatasource(em, params.datasourceID);
      const limitKeys = { target: datasourceID, tenant: tenantID };
      const payload = { tenantID, datasourceID, path };
      const { items } = await producer.request(datasourceMetadata, payload, { signal, limitKeys });
      return { path, items };
    },
  }),

  tenantRoute({
    name: 'listDatasourceTables',
    method: 'get',
    path: '/datasources/:datasourceID/tables',
    summary: 'List the tables of a datasource',
    description:
      'Returns tables with their columns, by at most 60 requests to the datasource; `isWhole` is false if there are more. A type without tables has none.',
    permission: 'datasource.read',
    object: ({ params }) => `datasource:${params.datasourceID}`,
    params: DatasourceID,
    response: Tables,
    errors: ['409', '502', '504'],

    async handle({ params, em, tenantID, signal }, { messaging: { producer } }) {
      const { id } = await getDatasource(em, params.datasourceID);
      return readTables({ tenantID, signal, producer }, id);
    },
  }),

  readUsage,
];
