import type { Rights } from '#shared/access/policy/rights.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError, toAppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { NewRun } from '#shared/runs/accept.ts';
import type { RunsInFlight } from '#shared/tenants/counted-quotas.ts';
import { targetOf } from '#shared/triggers/cron/job.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { governRun } from '#shared/workflow/limits.ts';
import { runTimeoutMs, WorkflowOptions } from '#shared/workflow/options.ts';
import { evaluateIn, type Roots } from '#shared/workflow/templates/expressions.ts';
import { findTemplate } from '#shared/workflow/templates/templates.ts';
import type { LockedJob, OpenTick } from './page.ts';

export interface StartNeeds {
  rights: Rights;
  inFlight: Pick<RunsInFlight, 'add'>;
  /** The channel on which the ends of runs of backfills are told. Absent: they are not told. */
  backfillChannel?: string;
}

export type Started =
  | { run: NewRun }
  /** `stops`: the job is to be stopped, because later ticks would fail as well. */
  | { error: AppError; stops: boolean };

/** Makes the run of a tick, with the permissions of the job's creator; or the error that prevents it. */
export async function startTick(needs: StartNeeds, job: LockedJob, tick: OpenTick): Promise<Started> {
  const { tenantID } = job;
  const caller = callerOf(job);
  const { permission, object, id, inputValues } = targetOf(job.cronJobType, job.cronJobConfig);
  const exists = job.cronJobType === 'workflow' ? job.workflow !== null : job.hasQuery;
  if (!exists || !(await needs.rights.may({ tenantID, caller }, { permission, object })))
    return { error: new AppError('PERMISSION_DENIED', notAllowed(job)), stops: true };
  try {
    const refusal = await needs.inFlight.add(tenantID);
    if (refusal) throw refusal;
    const { versionID, options } = versionOf(job);
    const input = resolveInputs(options.inputDefinitions, fill(inputValues, { cron: describe(job, tick) }), {
      field: 'cronJobConfig.inputValues',
    });
    const workflowID = job.cronJobType === 'workflow' ? id : null;
    const governed = governRun(options, { workflowID: workflowID ?? job.id, caller, input });
    const timeoutMs = Math.min(job.timeoutSeconds * 1_000, runTimeoutMs(options));
    const run = {
      id: newID(),
      tenantID,
      workflowID,
      versionID,
      caller,
      input,
      ...governed,
      timeoutMs,
      cronTickID: tick.id,
      ...(tick.triggerType === 'BACKFILL' && needs.backfillChannel && { awaitedBy: needs.backfillChannel }),
    };
    return { run };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { error: toAppError(error), stops: false };
  }
}

/** One message for both reasons: a creator without the permission must not learn whether the workflow or query exists. */
function notAllowed({ cronJobType }: LockedJob): string {
  const what = cronJobType === 'workflow' ? 'workflow' : 'data query';
  return `There is no such ${what}, or the creator of the cron job may not execute it any more`;
}

function callerOf({ id, creatorID, createdByApiKeyID }: LockedJob): Caller {
  const origin = { origin: 'cron', originID: id, userID: creatorID } as const;
  if (createdByApiKeyID !== null) return { type: 'apiKey', id: createdByApiKeyID, ...origin };
  return { type: 'user', id: creatorID, ...origin };
}

function versionOf({ cronJobType, workflow, versionID }: LockedJob) {
  // A job that executes a query runs a generated graph, which has no options.
  if (cronJobType !== 'workflow' && versionID !== null) return { versionID, options: WorkflowOptions.parse({}) };
  if (workflow?.isDisabled) throw new AppError('CONFLICT', 'The workflow is disabled');
  if (!workflow || workflow.versionID === null)
    throw new AppError('CONFLICT', 'The workflow has drafts only: publish a version of it');
  return { versionID: workflow.versionID, options: WorkflowOptions.parse(workflow.options) };
}

/** Fields that templates of the inputs may name, such as `{{cron.scheduledAt}}`. */
function describe(job: LockedJob, tick: OpenTick): JsonObject {
  return {
    scheduledAt: new Date(tick.scheduledAt).toISOString(),
    firedAt: job.now.toISOString(),
    triggerType: tick.triggerType,
    attempt: tick.attempts + 1,
    cronJobID: job.id,
    cronJobTitle: job.cronJobTitle,
  };
}

/** Replaces templates in texts at any depth. Templates without a value stay as they are. */
function fill(values: JsonObject, roots: Roots): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, fillValue(value, roots)]));
}

function fillValue(value: Json, roots: Roots): Json {
  if (Array.isArray(value)) return value.map((each) => fillValue(each, roots));
  if (typeof value === 'object' && value !== null) return fill(value as JsonObject, roots);
  const template = typeof value === 'string' ? findTemplate(value) : undefined;
  if (!template || typeof value !== 'string') return value;
  return template.parts
    .map((part) => (typeof part === 'string' ? part : String(evaluateIn(part, roots) ?? `{{${part.source}}}`)))
    .join('');
}
