import { z } from 'zod';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { Listener } from '#shared/entities/tables/listener.ts';
import { deleteAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { getDatasource } from './find.ts';
import { DatasourceID } from './schemas.ts';

export const deleteDatasource = tenantRoute({
  name: 'deleteDatasource',
  method: 'delete',
  path: '/datasources/:datasourceID',
  summary: 'Delete a datasource',
  description: 'Deletes a datasource, with the data queries and the listeners that use it.',
  permission: 'datasource.delete',
  object: ({ params }) => `datasource:${params.datasourceID}`,
  params: DatasourceID,
  response: z.object({ message: Message, deletedDataQueries: z.int(), deletedListeners: z.int() }),

  async handle({ params, em }) {
    return em.transactional(async (tx) => {
      // Locked, so that no query and no listener is added meanwhile.
      const datasource = await getDatasource(tx, params.datasourceID, { lock: true });
      const queries = await tx.find(DataQuery, { datasourceID: datasource.id });
      for (const query of queries) await deleteAsset(tx, 'dataquery', query);
      const listeners = await tx.find(Listener, { datasourceID: datasource.id });
      for (const listener of listeners) await deleteAsset(tx, 'listener', listener);
      await deleteAsset(tx, 'datasource', datasource);
      const deleted = { deletedDataQueries: queries.length, deletedListeners: listeners.length };
      return { message: `Datasource deleted, with ${wordsOf(queries.length, listeners.length)}`, ...deleted };
    });
  },
});

function wordsOf(queries: number, listeners: number): string {
  const ofQueries = queries === 1 ? '1 data query' : `${queries} data queries`;
  if (listeners === 0) return ofQueries;
  return `${ofQueries} and ${listeners === 1 ? '1 listener' : `${listeners} listeners`}`;
}
