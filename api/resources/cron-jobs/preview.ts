import { z } from 'zod';
import { tenantRoute } from '../../context/routes.ts';
import { readClock } from './database-time.ts';
import { getCronJob } from './find.ts';
import { presentPreview } from './present.ts';
import { CronJobID, Preview, PreviewOf, PreviewQuery } from './schemas.ts';

const response = z.object({ preview: Preview });

export const previewRoutes = [
  tenantRoute({
    name: 'previewCronSchedule',
    method: 'post',
    path: '/cronjobs/preview',
    summary: 'Preview a schedule',
    description: 'Returns the next ticks of a schedule that need not be stored, and the schedule in words.',
    permission: 'cronjob.list',
    body: PreviewOf,
    response,
    // It changes nothing.
    idempotent: false,

    async handle({ body }, { pool }) {
      return { preview: presentPreview(body, await readClock(pool)) };
    },
  }),

  tenantRoute({
    name: 'previewCronJob',
    method: 'get',
    path: '/cronjobs/:cronJobID/preview',
    summary: 'Preview a cron job',
    description:
      'Returns the next ticks of the schedule of a job, whether it is enabled or not, and the schedule in words.',
    permission: 'cronjob.read',
    object: ({ params }) => `cronjob:${params.cronJobID}`,
    params: CronJobID,
    query: PreviewQuery,
    response,

    async handle({ params, query, em }, { pool }) {
      const { cronJobSchedule, timezone } = await getCronJob(em, params.cronJobID);
      return { preview: presentPreview({ cronJobSchedule, timezone, count: query.count }, await readClock(pool)) };
    },
  }),
];
