import { inEntityTransaction } from '#shared/db/query.ts';
import { CronJob } from '#shared/entities/tables/cron-job.ts';
import type { MissedRunPolicy, OverlapPolicy } from '#shared/triggers/cron/job.ts';
import { nextTick } from '#shared/triggers/cron/next-tick.ts';
import { createAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import { requireVersionCapacity } from '../../graphs/workflow-versions.ts';
import { readClock } from './database-time.ts';
import { presentCronJob } from './present.ts';
import { Changed, CronJobCreate, cronJobAliases } from './schemas.ts';
import { checkTarget, targetAccess, writeVersion } from './target.ts';

const defaults = {
  timezone: 'UTC',
  overlapPolicy: 'allow' as OverlapPolicy,
  missedRunPolicy: 'skip' as MissedRunPolicy,
  missedRunWindowSeconds: 86_400,
  jitterSeconds: 0,
  timeoutSeconds: 300,
  retryAttempts: 0,
  retryDelaySeconds: 60,
};

export const createCronJob = tenantRoute({
  name: 'createCronJob',
  method: 'post',
  path: '/cronjobs',
  summary: 'Create a cron job',
  description:
    'Runs a workflow or a data query at the times of a schedule, as the creator of the job, who needs the permission to execute it.',
  status: 201,
  access: ({ body: { cronJobType, cronJobConfig } }) => [
    { permission: 'cronjob.create', object: 'cronjob:*' },
    targetAccess(cronJobType, cronJobConfig),
  ],
  body: CronJobCreate,
  aliases: cronJobAliases,
  response: Changed,
  idempotent: 'transaction',

  async handle({ body, caller, em, tenantID, newAssetID }, { pool }) {
    const { cronJobType, cronJobTitle, cronJobDescription, cronJobSchedule, cronJobEnabled } = body;
    const cronJobConfig = await checkTarget(em, cronJobType, body.cronJobConfig);
    const given = policiesOf(body);
    const id = newAssetID();
    const creatorID = caller.userID ?? caller.id;
    const createdByApiKeyID = caller.type === 'apiKey' ? caller.id : null;
    const { timeoutSeconds, timezone, jitterSeconds } = given;
    const version = { tenantID, cronJobType, cronJobConfig, timeoutSeconds, creatorID, createdByApiKeyID };
    const now = (await readClock(pool)).getTime();
    const timed = { id, cronJobSchedule, timezone, jitterSeconds };
    const values = {
      id,
      cronJobTitle,
      cronJobDescription,
      cronJobSchedule,
      cronJobEnabled,
      cronJobType,
      cronJobConfig,
      ...given,
      versionID: writeVersion(em, version),
      folderID: body.folderID,
      ...(cronJobEnabled && nextTick(timed, now)),
    };
    const cronJob = await inEntityTransaction(em, async () => {
      const created = await createAsset(em, caller, 'cronjob', CronJob, values);
      await requireVersionCapacity(em, tenantID);
      return created;
    });
    return { cronJob: presentCronJob(cronJob), message: 'Cron job created' };
  },
});

type Policies = { [Name in keyof typeof defaults]?: (typeof defaults)[Name] | undefined };

/** The fields of a body or a job that have defaults. */
export function pickPolicies(job: Policies): Policies {
  const { timezone, overlapPolicy, missedRunPolicy, missedRunWindowSeconds } = job;
  const { jitterSeconds, timeoutSeconds, retryAttempts, retryDelaySeconds } = job;
  const limits = { jitterSeconds, timeoutSeconds, retryAttempts, retryDelaySeconds };
  return { timezone, overlapPolicy, missedRunPolicy, missedRunWindowSeconds, ...limits };
}

export function policiesOf(job: Policies): typeof defaults {
  const given = Object.entries(pickPolicies(job)).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) };
}
