import { newID } from '#shared/core/ids.ts';
import { inEntityTransaction } from '#shared/db/query.ts';
import { CronJob } from '#shared/entities/tables/cron-job.ts';
import { createAsset } from '../../assets/assets.ts';
import { titleOfCopy } from '../../assets/copy-title.ts';
import { folderOfCopy } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { requireVersionCapacity } from '../../graphs/workflow-versions.ts';
import { policiesOf } from './create.ts';
import { getCronJob } from './find.ts';
import { presentCronJob } from './present.ts';
import { Changed, CronJobID } from './schemas.ts';
import { checkTarget, targetAccess, writeVersion } from './target.ts';

export const cloneCronJob = tenantRoute({
  name: 'cloneCronJob',
  method: 'post',
  path: '/cronjobs/:cronJobID/clone',
  summary: 'Clone a cron job',
  description: 'Copies a cron job. The copy is disabled, and runs as the caller once it is enabled.',
  status: 201,
  access: ({ params }) => [
    { permission: 'cronjob.read', object: `cronjob:${params.cronJobID}` },
    { permission: 'cronjob.create', object: 'cronjob:*' },
  ],
  params: CronJobID,
  response: Changed,
  idempotent: 'transaction',

  async handle({ params, caller, em, tenantID, require }) {
    const original = await getCronJob(em, params.cronJobID);
    const { cronJobType, cronJobConfig, cronJobDescription, cronJobSchedule } = original;
    const folderID = await folderOfCopy(em, 'cronJob', original);
    await require([targetAccess(cronJobType, cronJobConfig)]);
    await checkTarget(em, cronJobType, cronJobConfig);
    const { timeoutSeconds } = original;
    const owner = {
      creatorID: caller.userID ?? caller.id,
      createdByApiKeyID: caller.type === 'apiKey' ? caller.id : null,
    };
    const values = {
      id: newID(),
      cronJobTitle: titleOfCopy(original.cronJobTitle),
      cronJobDescription,
      cronJobSchedule,
      cronJobEnabled: false,
      cronJobType,
      cronJobConfig,
      ...policiesOf(original),
      versionID: writeVersion(em, { tenantID, cronJobType, cronJobConfig, timeoutSeconds, ...owner }),
      folderID,
    };
    const cronJob = await inEntityTransaction(em, async () => {
      const created = await createAsset(em, caller, 'cronjob', CronJob, values);
      await requireVersionCapacity(em, tenantID);
      return created;
    });
    return { cronJob: presentCronJob(cronJob), message: 'Cron job copied' };
  },
});
