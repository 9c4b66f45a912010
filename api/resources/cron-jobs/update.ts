import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { invalid, invalidField, within } from '#shared/core/schema/issues.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { CronJob } from '#shared/entities/tables/cron-job.ts';
import { nextTick } from '#shared/triggers/cron/next-tick.ts';
import { requireFolder } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { requireVersionCapacity } from '../../graphs/workflow-versions.ts';
import type { Access } from '../../http/route/input.ts';
import { pickPolicies } from './create.ts';
import { readClock } from './database-time.ts';
import { getCronJob } from './find.ts';
import { presentCronJob } from './present.ts';
import { Changed, CronJobID, CronJobUpdate, cronJobAliases, readConfig } from './schemas.ts';
import { checkTarget, supersedeVersion, targetAccess, writeVersion } from './target.ts';

type Update = z.output<typeof CronJobUpdate>;

export const updateCronJob = tenantRoute({
  name: 'updateCronJob',
  method: 'patch',
  path: '/cronjobs/:cronJobID',
  summary: 'Update a cron job',
  description:
    'Fields that are left out stay as they are; the config is given as a whole. Ticks that have begun are not changed. A job that was stopped goes on if it is enabled again.',
  permission: 'cronjob.update',
  object: ({ params }) => `cronjob:${params.cronJobID}`,
  params: CronJobID,
  body: CronJobUpdate,
  aliases: cronJobAliases,
  response: Changed,

  async handle({ params, body, em, require }, { pool }) {
    const now = (await readClock(pool)).getTime();
    return em.transactional(async (tx) => {
      const job = await getCronJob(tx, params.cronJobID, { lock: true });
      const before = { ...job };
      await changeConfig(tx, job, body, require);
      const { cronJobTitle, cronJobDescription, cronJobSchedule, cronJobEnabled, folderID } = body;
      const changes = { cronJobTitle, cronJobDescription, cronJobSchedule, cronJobEnabled, folderID };
      await requireFolder(tx, 'cronJob', folderID);
      tx.assign(job, { ...changes, ...pickPolicies(body) }, { ignoreUndefined: true });
      if (job.versionID !== before.versionID || needsVersion(before, job)) {
        await supersedeVersion(tx, before);
        job.versionID = writeVersion(tx, job);
      }
      if (body.cronJobEnabled) tx.assign(job, { stoppedAt: null, stopReason: null });
      schedule(job, { before, now });
      await tx.flush();
      if (job.versionID !== before.versionID) await requireVersionCapacity(tx, job.tenantID);
      return { cronJob: presentCronJob(job), message: 'Cron job updated' };
    });
  },
});

type Require = (access: readonly Access[]) => Promise<void>;

/** Changes what the job executes. It is checked as at the creation of a job, with the permissions of this caller. */
async function changeConfig(em: EntityManager, job: CronJob, body: Update, require: Require): Promise<void> {
  const { cronJobType = job.cronJobType, cronJobConfig } = body;
  if (cronJobConfig === undefined && cronJobType === job.cronJobType) return;
  if (cronJobConfig === undefined) throw invalidField('cronJobConfig', `is required for the type ${cronJobType}`);
  const config = readConfig(cronJobType, cronJobConfig);
  if (!config.success) throw invalid(within(['cronJobConfig'], config.issues));
  await require([targetAccess(cronJobType, config.data)]);
  const stored = await checkTarget(em, cronJobType, config.data);
  em.assign(job, { cronJobType, cronJobConfig: stored });
}

/** Whether the runs of the job need another graph. */
function needsVersion(before: CronJob, job: CronJob): boolean {
  const graphOf = ({ cronJobType, cronJobConfig, timeoutSeconds }: CronJob) =>
    cronJobType === 'workflow' ? null : [cronJobConfig, timeoutSeconds];
  return !isDeepStrictEqual(graphOf(before), graphOf(job));
}

/** Finds the next tick again if the calendar, or whether the job follows it, has changed. */
export function schedule(job: CronJob, { before, now }: { before: CronJob; now: number }): void {
  const timesOf = ({ cronJobSchedule, timezone, jitterSeconds, ...each }: CronJob) => {
    const isOn = each.cronJobEnabled && !each.stoppedAt;
    return [isOn, ...(isOn ? [cronJobSchedule, timezone, jitterSeconds] : [])];
  };
  if (isDeepStrictEqual(timesOf(before), timesOf(job))) return;
  const isOn = job.cronJobEnabled && !job.stoppedAt;
  Object.assign(job, isOn ? nextTick(job, now) : { nextAt: null, dueAt: null });
  // A timer that was set before follows the old calendar, so it must be set again.
  if (isOn) job.alarmSetIn = null;
}
