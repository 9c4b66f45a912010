import type { datasourceTests } from '#shared/messaging/queues/datasource-tests.ts';
import { openPostgresConnection } from '../connections/postgresql/connection.ts';
import { endpointOfURL } from '../tenant-database/databases/endpoints.ts';
import type { RPCHandler } from './answer-requests.ts';

/** Tests a datasource by signing in to it. */
export const answerDatasourceTest: RPCHandler<typeof datasourceTests> = async (
  { request, signal },
  { outbound, datasources },
) => {
  if (request.kind === 'url') {
    const connection = await openPostgresConnection(endpointOfURL(request.url), outbound.connect, signal);
    connection.close();
    return { reachable: true };
  }
  const ref = request.kind === 'stored' ? request : { ...request, datasourceID: null };
  await datasources.test(ref, signal);
  return { reachable: true };
};
