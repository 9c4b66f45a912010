import { z } from 'zod';
import { DataQuery } from '#shared/db/entities/data-query.ts';
import { deleteAsset } from '../../db/assets.ts';
import { Message } from '../../http/answer-parts.ts';
import { tenantRoute } from '../../http/route.ts';
import { getDatasource } from './find.ts';
import { DatasourceID } from './schemas.ts';

export const deleteDatasource = tenantRoute({
  name: 'deleteDatasource',
  method: 'delete',
  path: '/datasources/:datasourceID',
  summary: 'Delete a datasource',
  description: 'Deletes a datasource and the data queries that use it.',
  permission: 'datasource.delete',
  object: ({ params }) => `datasource:${params.datasourceID}`,
  params: DatasourceID,
  response: z.object({ message: Message, deletedDataQueries: z.int() }),

  async handle({ params, em }) {
    return em.transactional(async (tx) => {
      // Locked, so that no query is added meanwhile.
      const datasource = await getDatasource(tx, params.datasourceID, { lock: true });
      const queries = await tx.find(DataQuery, { datasourceID: datasource.id });
      for (const query of queries) await deleteAsset(tx, 'dataquery', query);
      await deleteAsset(tx, 'datasource', datasource);
      const words = queries.length === 1 ? '1 data query' : `${queries.length} data queries`;
      return { message: `Datasource deleted, with ${words}`, deletedDataQueries: queries.length };
    });
  },
});
