import { datasourceMetadata } from '#shared/queues/datasource-metadata.ts';
import { datasourceTests } from '#shared/queues/datasource-tests.ts';
import type { AnyQueue } from '#shared/queues/index.ts';
import { oauthExchange } from '#shared/queues/oauth-exchange.ts';
import { queryRuns } from '#shared/queues/query-runs.ts';
import { tenantDatabase } from '#shared/queues/tenant-database.ts';
import { answers } from './answers.ts';
import type { Processor } from './consume.ts';
import { answerDatasourceMetadata } from './datasource-metadata.ts';
import { answerDatasourceTest } from './datasource-tests.ts';
import { answerOAuthExchange } from './oauth-exchange.ts';
import { answerQueryRun } from './query-runs.ts';
import { answerTenantDatabase } from './tenant-database.ts';
import { processWorkflowRun } from './workflow-runs.ts';

export const processors = {
  'workflow.runs': processWorkflowRun,
  'datasource.tests': answers(datasourceTests, answerDatasourceTest),
  'datasource.metadata': answers(datasourceMetadata, answerDatasourceMetadata),
  'query.runs': answers(queryRuns, answerQueryRun),
  'tenant.database': answers(tenantDatabase, answerTenantDatabase),
  'oauth.exchange': answers(oauthExchange, answerOAuthExchange),
} satisfies { [D in AnyQueue as D['name']]: Processor<D> };
