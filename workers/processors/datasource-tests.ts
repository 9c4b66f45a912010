import type { datasourceTests } from '#shared/queues/datasource-tests.ts';
import type { Answerer } from '../answers.ts';
import { openTenantDatabase } from '../tenant-database/open.ts';

/** Signs in and out again. */
export const answerDatasourceTest: Answerer<typeof datasourceTests> = async (
  { question, signal },
  { outbound, datasources },
) => {
  if (question.kind === 'url') {
    await using _client = await openTenantDatabase(question.url, { outbound, signal });
    return { reachable: true };
  }
  const ref = question.kind === 'stored' ? question : { ...question, datasourceID: null };
  await datasources.use(ref, (connection) => connection.test(signal));
  return { reachable: true };
};
