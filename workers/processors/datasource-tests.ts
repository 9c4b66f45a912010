import type { datasourceTests } from '#shared/messaging/queues/datasource-tests.ts';
import { openPostgresConnection } from '../connections/postgresql/connection.ts';
import { endpointOfURL } from '../tenant-database/databases/endpoints.ts';
import type { Answerer } from './answer-requests.ts';

/** Tests a datasource by signing in to it. */
export const answerDatasourceTest: Answerer<typeof datasourceTests> = async (
  { question, signal },
  { outbound, datasources },
) => {
  if (question.kind === 'url') {
    const connection = await openPostgresConnection(endpointOfURL(question.url), outbound.connect, signal);
    connection.close();
    return { reachable: true };
  }
  const ref = question.kind === 'stored' ? question : { ...question, datasourceID: null };
  await datasources.withConnection(ref, (connection) => connection.test(signal));
  return { reachable: true };
};
