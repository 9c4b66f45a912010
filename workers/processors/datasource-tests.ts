import type { datasourceTests } from '#shared/queues/datasource-tests.ts';
import type { Answerer } from '../answers.ts';
import { openTenantDatabase } from '../tenant-database/open.ts';

/** Signs in and out again. */
export const answerDatasourceTest: Answerer<typeof datasourceTests> = async ({ question, signal }, { outbound }) => {
  await using _client = await openTenantDatabase(question.url, { outbound, signal });
  return { reachable: true };
};
