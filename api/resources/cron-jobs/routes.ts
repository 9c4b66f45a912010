import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { CronJob } from '#shared/entities/tables/cron-job.ts';
import { deleteAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { backfillRoutes } from './backfills/backfills.ts';
import { cloneCronJob } from './clone.ts';
import { createCronJob } from './create.ts';
import { getCronJob } from './find.ts';
import { listCronJobHistory } from './history/history.ts';
import { pauseRoutes } from './pause.ts';
import { presentCronJob } from './present.ts';
import { previewRoutes } from './preview.ts';
import { runCronJob } from './run-now.ts';
import { Changed, CronJobID, CronJobList, CronJobs } from './schemas.ts';
import { getCronStatus } from './status.ts';
import { supersedeVersion } from './target.ts';
import { updateCronJob } from './update.ts';

/** Fixed paths come before `:cronJobID`, which would take them for an id. */
export const cronJobRoutes = [
  tenantRoute({
    name: 'listCronJobs',
    method: 'get',
    path: '/cronjobs',
    summary: 'List cron jobs',
    description: 'Returns the cron jobs the caller may read, newest first.',
    permission: 'cronjob.list',
    filter: true,
    query: CronJobList,
    response: CronJobs,
    errors: ['413'],

    async handle({ query, em, visible }) {
      const { search, folderID } = query;
      const where: FilterQuery<CronJob> = {
        ...(await visible('cronjob.read')),
        ...(search && { cronJobTitle: containing(search) }),
        ...(folderID && { folderID }),
      };
      const { rows, fields } = await findPage(em, CronJob, { where, query, large: ['cronJobConfig'] });
      return { cronJobs: rows.map(presentCronJob), ...fields, message: 'Cron jobs found' };
    },
  }),

  createCronJob,
  getCronStatus,
  ...previewRoutes,

  tenantRoute({
    name: 'getCronJob',
    method: 'get',
    path: '/cronjobs/:cronJobID',
    summary: 'Get a cron job',
    description: 'Returns a cron job with its next tick.',
    permission: 'cronjob.read',
    object: ({ params }) => `cronjob:${params.cronJobID}`,
    params: CronJobID,
    response: Changed,

    async handle({ params, em }) {
      return { cronJob: presentCronJob(await getCronJob(em, params.cronJobID)), message: 'Cron job found' };
    },
  }),

  updateCronJob,

  tenantRoute({
    name: 'deleteCronJob',
    method: 'delete',
    path: '/cronjobs/:cronJobID',
    summary: 'Delete a cron job',
    description: 'Deletes a cron job and its history. Runs that it has started go on.',
    permission: 'cronjob.delete',
    object: ({ params }) => `cronjob:${params.cronJobID}`,
    params: CronJobID,
    response: z.object({ message: Message }),

    async handle({ params, em }) {
      return em.transactional(async (tx) => {
        const job = await getCronJob(tx, params.cronJobID, { lock: true });
        await supersedeVersion(tx, job);
        await deleteAsset(tx, 'cronjob', job);
        return { message: 'Cron job deleted' };
      });
    },
  }),

  cloneCronJob,
  runCronJob,
  ...pauseRoutes,
  listCronJobHistory,
  ...backfillRoutes,
];
