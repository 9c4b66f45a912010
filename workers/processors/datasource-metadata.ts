import { AppError } from '#shared/core/errors.ts';
import type { datasourceMetadata } from '#shared/messaging/queues/datasource-metadata.ts';
import type { RPCHandler } from './answer-requests.ts';

export const answerDatasourceMetadata: RPCHandler<typeof datasourceMetadata> = async (
  { request: { tenantID, datasourceID, path }, signal },
  { datasources },
) => {
  const items = await datasources.withConnection({ tenantID, datasourceID }, (connection, { label }) => {
    if (!connection.browse) throw new AppError('VALIDATION_ERROR', `${label} has no metadata to browse`);
    return connection.browse(path, signal);
  });
  return { items };
};
