import { z } from 'zod';
import { TickOutcome, TickStatus, TriggerType } from '#shared/triggers/cron/job.ts';
import { pageFields, pageQuery, standardPage } from '../../../http/fields/paging.ts';
import { Message, WorkError } from '../../../http/fields/response-parts.ts';
import { exampleCronStatus, exampleTick } from '../examples.ts';

export const HistoryList = z.object({
  ...pageQuery(standardPage),
  status: TickStatus.optional(),
  outcome: TickOutcome.optional(),
});

const moment = z.iso.datetime().nullable();

export const CronHistoryRecord = z
  .object({
    id: z.uuid(),
    cronJobHistoryID: z.uuid(),
    cronJobID: z.uuid(),
    status: TickStatus.describe('`SCHEDULED` until the work has ended; `SUCCESS`: it has finished without an error'),
    triggerType: TriggerType,
    outcome: TickOutcome.describe(
      'What became of the tick. `caughtUp`: it was missed and started afterwards; `queued`: it waits for the work of an earlier one; `refused`: it could not be started',
    ),
    reason: z.string().nullable().describe('Why it was not started, or not in its time'),
    scheduledAt: z.iso.datetime().describe('When it was due'),
    lastScheduledAt: moment.describe('Of a record that stands for several ticks that were missed: the last of them'),
    firedAt: moment.describe('When a worker took it up'),
    startedAt: moment.describe('When its run began'),
    finishedAt: moment,
    nextAttemptAt: moment.describe('When it is tried again'),
    durationMs: z.int().nullable().describe('From `startedAt` to `finishedAt`'),
    attempts: z.int(),
    instanceID: z.uuid().nullable().describe('The run of the last attempt'),
    blockedByInstanceID: z
      .uuid()
      .nullable()
      .describe('Of a tick that was skipped because the run of an earlier one went on: that run'),
    result: z.object({ instanceID: z.uuid() }).meta({ id: 'CronJobResult' }).nullable(),
    error: WorkError.nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'CronJobHistory', examples: [exampleTick] });

export const CronHistory = z
  .object({
    cronJobHistory: z.array(CronHistoryRecord),
    cronJobHistoryCount: z.int().optional().describe('As `totalCount`'),
    nextPage: z.int().nullable(),
    ...pageFields,
  })
  .meta({ id: 'CronJobHistoryPage' });

export const Asked = z.object({ cronJobHistory: CronHistoryRecord, message: Message });

const CronStatus = z
  .object({
    state: z.enum(['scheduled', 'paused', 'disabled', 'stopped']),
    nextRunAt: moment,
    running: z.int().describe('Ticks whose work goes on'),
    queued: z.int().describe('Ticks that wait for it'),
  })
  .meta({ id: 'CronJobStatus', examples: [exampleCronStatus] });

export const CronStatuses = z.object({
  status: z.record(z.string(), CronStatus).describe('By the id of the job'),
  message: Message,
});
