import { z } from 'zod';
import { faultOfExpression, isTimezone } from '#shared/core/cron-calendar.ts';
import { JsonObject, Settings } from '#shared/core/json.ts';
import { quote } from '#shared/core/quote.ts';
import { looseObject } from '#shared/core/record.ts';
import { differing } from '#shared/core/schema/field-aliases.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { CronJobType, configs, MissedRunPolicy, OverlapPolicy } from '#shared/triggers/cron/job.ts';
import type { FieldAliases } from '../../http/fields/field-aliases.ts';
import { explorerPage, pageFields, pageQuery } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import {
  exampleCronJob,
  exampleCronJobCreate,
  exampleCronJobUpdate,
  examplePreview,
  examplePreviewOf,
} from './examples.ts';

export const CronJobID = z.object({ cronJobID: idOf('cronJob') });

const Title = z.string().min(1).max(255);

/** Five fields, with one space between them. */
const Schedule = z
  .string()
  .transform((text) => text.trim().split(/\s+/).join(' '))
  .superRefine((text, check) => {
    const message = faultOfExpression(text);
    if (message !== undefined) check.addIssue({ code: 'custom', message });
  })
  .meta({ description: 'A cron expression of five fields: minute, hour, day of month, month, day of week' });

const Timezone = z
  .string()
  .max(64)
  .superRefine((name, check) => {
    const message = `expected a time zone of the IANA such as Europe/Berlin, received ${quote(name)}`;
    if (!isTimezone(name)) check.addIssue({ code: 'custom', message });
  })
  .meta({ description: 'A time zone of the IANA, such as `Europe/Berlin`; the clock that the schedule is read by' });

const ConfigGiven = Settings.describe('`workflowID` or `dataQueryID`, by the type, and `inputValues`');

const own = {
  cronJobTitle: Title,
  cronJobDescription: z.string().max(10_000).nullish(),
  cronJobSchedule: Schedule,
  timezone: Timezone.optional(),
  cronJobEnabled: z.boolean().optional(),
  isDisabled: z.boolean().optional().describe('The opposite of `cronJobEnabled`, in its place'),
  cronJobType: CronJobType.optional(),
  cronJobConfig: ConfigGiven.optional(),
  workflowID: idOf('workflow').optional().describe('In the place of `cronJobConfig`'),
  workflowConfig: z
    .object({ inputValues: JsonObject.optional() })
    .meta({ id: 'CronWorkflowConfig' })
    .optional()
    .describe('Beside `workflowID`, in the place of `cronJobConfig`'),
  overlapPolicy: OverlapPolicy.optional().describe('What becomes of a tick while the work of an earlier one goes on'),
  missedRunPolicy: MissedRunPolicy.optional().describe('What becomes of ticks that no worker could start in time'),
  missedRunWindowSeconds: z
    .int()
    .min(60)
    .max(2_592_000)
    .optional()
    .describe('How old a tick may be that is started afterwards'),
  jitterSeconds: z.int().min(0).max(3_600).optional().describe('Ticks begin up to so much later'),
  timeoutSeconds: z.int().min(1).max(604_800).optional().describe('Time of one attempt, waits included'),
  retryAttempts: z.int().min(0).max(10).optional().describe('Attempts after the first'),
  retryDelaySeconds: z.int().min(0).max(86_400).optional().describe('From the end of an attempt to the next'),
  folderID: idOf('folder').nullish(),
};

/** Names of fields in errors of handlers. */
export const cronJobAliases: FieldAliases = { cronJobConfig: ['cronJobConfig', 'workflowConfig'] };

export const CronJobCreate = z
  .object(own)
  .transform((body, check) => {
    const { cronJobType, cronJobConfig, cronJobEnabled = true } = withoutAliases(body);
    if (cronJobType === undefined) return missing(check, 'cronJobType', CronJobType);
    if (cronJobConfig === undefined) return missing(check, 'cronJobConfig', JsonObject);
    const config = readConfig(cronJobType, cronJobConfig);
    if (config.success) return { ...body, cronJobType, cronJobConfig: config.data, cronJobEnabled };
    for (const { path, message } of config.issues)
      check.addIssue({ code: 'custom', path: ['cronJobConfig', ...path], message });
    return z.NEVER;
  })
  .meta({ id: 'CronJobCreate', examples: [exampleCronJobCreate] });

/** Absent fields stay as they are, null clears a field. */
export const CronJobUpdate = z
  .object({ ...own, cronJobTitle: Title.optional(), cronJobSchedule: Schedule.optional() })
  .transform((body) => ({ ...body, ...withoutAliases(body) }))
  .meta({ id: 'CronJobUpdate', examples: [exampleCronJobUpdate] });

type Given = Partial<z.output<z.ZodObject<typeof own>>>;

/** Turns other accepted names into those of the contract. A workflow that is named beside the config also sets the type. */
function withoutAliases({ isDisabled, workflowID, workflowConfig, ...body }: Given) {
  const { cronJobEnabled = isDisabled === undefined ? undefined : !isDisabled } = body;
  const named = workflowID === undefined ? undefined : { workflowID, ...workflowConfig };
  const cronJobConfig = body.cronJobConfig ?? named;
  const cronJobType = body.cronJobType ?? (named && !body.cronJobConfig ? 'workflow' : undefined);
  return { cronJobEnabled, cronJobConfig, cronJobType };
}

/** The config of a type, from what a client has sent. */
export function readConfig(type: CronJobType, given: JsonObject) {
  const issue = differing(given, ['inputValues', 'args']);
  if (issue) return { success: false, issues: [issue], count: 1 } as const;
  const { args, ...config } = given;
  return parseValue(configs[type], { ...(args !== undefined && { inputValues: args }), ...config });
}

function missing(check: z.core.$RefinementCtx, field: string, schema: z.ZodType) {
  const parsed = parseValue(z.object({ [field]: schema }), {});
  for (const { path, message } of parsed.success ? [] : parsed.issues)
    check.addIssue({ code: 'custom', path, message });
  return z.NEVER;
}

export const CronJobList = z.object({
  ...pageQuery(explorerPage),
  search: z.string().max(255).optional(),
  folderID: idOf('folder').optional(),
});

const State = z.enum(['scheduled', 'paused', 'disabled', 'stopped']);

export const CronJob = z
  .object({
    id: z.uuid(),
    cronJobID: z.uuid(),
    tenantID: z.uuid(),
    cronJobTitle: z.string(),
    cronJobDescription: z.string().nullable(),
    cronJobSchedule: z.string(),
    timezone: z.string(),
    scheduleDescription: z.string().describe('The schedule in words'),
    cronJobEnabled: z.boolean(),
    cronJobType: CronJobType,
    cronJobConfig: looseObject({}),
    overlapPolicy: OverlapPolicy,
    missedRunPolicy: MissedRunPolicy,
    missedRunWindowSeconds: z.int(),
    jitterSeconds: z.int(),
    timeoutSeconds: z.int(),
    retryAttempts: z.int(),
    retryDelaySeconds: z.int(),
    state: State.describe('`stopped`: its creator may not execute this any more, or it is gone; see `stopReason`'),
    stopReason: z.string().nullable(),
    pausedAt: z.iso.datetime().nullable(),
    stoppedAt: z.iso.datetime().nullable(),
    nextRunAt: z.iso.datetime().nullable().describe('The next tick; null while it is disabled or stopped'),
    folderID: z.uuid().nullable(),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'CronJob', examples: [exampleCronJob] });

export const CronJobs = z
  .object({ cronJobs: z.array(CronJob), ...pageFields, message: Message })
  .meta({ id: 'CronJobPage' });

/** Answer to a change: the job, and a message to show. */
export const Changed = z.object({ cronJob: CronJob, message: Message });

const Count = NumberText(z.int().min(1).max(50)).prefault(10);

export const PreviewQuery = z.object({ count: Count });

export const PreviewOf = z
  .object({ cronJobSchedule: Schedule, timezone: Timezone.default('UTC'), count: Count })
  .meta({ id: 'CronPreviewRequest', examples: [examplePreviewOf] });

export const Preview = z
  .object({
    cronJobSchedule: z.string(),
    timezone: z.string(),
    scheduleDescription: z.string(),
    runs: z.array(
      z
        .object({
          at: z.iso.datetime(),
          local: z.string().describe('The same moment by the clock of the time zone'),
        })
        .meta({ id: 'CronPreviewRun' }),
    ),
  })
  .meta({ id: 'CronPreview', examples: [examplePreview] });
