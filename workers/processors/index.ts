import { aiCalls } from '#shared/messaging/queues/ai-calls.ts';
import { datasourceMetadata } from '#shared/messaging/queues/datasource-metadata.ts';
import { datasourceTests } from '#shared/messaging/queues/datasource-tests.ts';
import type { AnyQueue } from '#shared/messaging/queues/index.ts';
import { oauthExchange } from '#shared/messaging/queues/oauth-exchange.ts';
import { queryRuns } from '#shared/messaging/queues/query-runs.ts';
import { tenantDatabase } from '#shared/messaging/queues/tenant-database.ts';
import { widgetData } from '#shared/messaging/queues/widget-data.ts';
import { workflowPlans } from '#shared/messaging/queues/workflow-plans.ts';
import { answerAICall } from './ai-calls.ts';
import { answerRequests } from './answer-requests.ts';
import { storeAuditEntries } from './audit-entries.ts';
import type { Processor } from './consume.ts';
import { processCronTick } from './cron-ticks.ts';
import { answerDatasourceMetadata } from './datasource-metadata.ts';
import { answerDatasourceTest } from './datasource-tests.ts';
import { processListenerEvents } from './listener-events.ts';
import { answerOAuthExchange } from './oauth-exchange.ts';
import { answerQueryRun } from './query-runs.ts';
import { answerTenantDatabase } from './tenant-database.ts';
import { answerWidgetData } from './widget-data.ts';
import { answerWorkflowPlan } from './workflow-plans.ts';
import { processWorkflowRuns } from './workflow-runs.ts';

export const processors = {
  'workflow.runs': processWorkflowRuns,
  'listener.events': processListenerEvents,
  'datasource.tests': answerRequests(datasourceTests, answerDatasourceTest),
  'datasource.metadata': answerRequests(datasourceMetadata, answerDatasourceMetadata),
  'query.runs': answerRequests(queryRuns, answerQueryRun),
  'tenant.database': answerRequests(tenantDatabase, answerTenantDatabase),
  'oauth.exchange': answerRequests(oauthExchange, answerOAuthExchange),
  'workflow.plans': answerRequests(workflowPlans, answerWorkflowPlan),
  'widget.data': answerRequests(widgetData, answerWidgetData),
  'ai.calls': answerRequests(aiCalls, answerAICall),
  'cron.ticks': processCronTick,
  'audit.entries': storeAuditEntries,
} satisfies { [D in AnyQueue as D['name']]: Processor<D> };
