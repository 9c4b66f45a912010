import type { z } from 'zod';
import { aiCalls } from './ai-calls.ts';
import { auditEntries } from './audit-entries.ts';
import { cronTicks } from './cron-ticks.ts';
import { datasourceMetadata } from './datasource-metadata.ts';
import { datasourceTests } from './datasource-tests.ts';
import { listenerEvents } from './listener-events.ts';
import { oauthExchange } from './oauth-exchange.ts';
import { queryRuns } from './query-runs.ts';
import { tenantDatabase } from './tenant-database.ts';
import { widgetData } from './widget-data.ts';
import { workflowPlans } from './workflow-plans.ts';
import { workflowRuns } from './workflow-runs.ts';

/** Every queue. `workers/processors/index.ts` has the processor of each; the compiler keeps the two in step. */
export const queues = [
  workflowRuns,
  listenerEvents,
  datasourceTests,
  datasourceMetadata,
  queryRuns,
  tenantDatabase,
  oauthExchange,
  workflowPlans,
  widgetData,
  aiCalls,
  cronTicks,
  auditEntries,
] as const;

export type AnyQueue = (typeof queues)[number];
export type QueueName = AnyQueue['name'];
/** The queues of requests whose caller waits. */
export type AnyRPC = Extract<AnyQueue, { request: z.ZodType }>;
