import { datasourceTests } from '#shared/queues/datasource-tests.ts';
import type { AnyQueue } from '#shared/queues/index.ts';
import { tenantDatabase } from '#shared/queues/tenant-database.ts';
import { answers } from '../answers.ts';
import type { Processor } from '../consume.ts';
import { answerDatasourceTest } from './datasource-tests.ts';
import { answerTenantDatabase } from './tenant-database.ts';
import { processWorkflowRun } from './workflow-runs.ts';

export const processors = {
  'workflow.runs': processWorkflowRun,
  'datasource.tests': answers(datasourceTests, answerDatasourceTest),
  'tenant.database': answers(tenantDatabase, answerTenantDatabase),
} satisfies { [D in AnyQueue as D['name']]: Processor<D> };
