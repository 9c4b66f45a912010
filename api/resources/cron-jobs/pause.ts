import type { EntityManager } from '#shared/entities/orm.ts';
import type { CronJob } from '#shared/entities/tables/cron-job.ts';
import { tenantRoute } from '../../context/routes.ts';
import { readClock } from './database-time.ts';
import { getCronJob } from './find.ts';
import { presentCronJob } from './present.ts';
import { Changed, CronJobID } from './schemas.ts';
import { schedule } from './update.ts';

export const pauseRoutes = [
  tenantRoute({
    name: 'pauseCronJob',
    method: 'post',
    path: '/cronjobs/:cronJobID/pause',
    summary: 'Pause a cron job',
    description: 'Ticks are recorded as skipped until the job is resumed. Work that goes on is not touched.',
    permission: 'cronjob.update',
    object: ({ params }) => `cronjob:${params.cronJobID}`,
    params: CronJobID,
    response: Changed,
    // Repeating it changes nothing more.
    idempotent: false,

    async handle({ params, em }, { pool }) {
      const now = await readClock(pool);
      const pause = (job: CronJob) => Object.assign(job, { pausedAt: job.pausedAt ?? now });
      return { cronJob: await change(em, params.cronJobID, { now, make: pause }), message: 'Cron job paused' };
    },
  }),

  tenantRoute({
    name: 'resumeCronJob',
    method: 'post',
    path: '/cronjobs/:cronJobID/resume',
    summary: 'Resume a cron job',
    description:
      'Ticks are started again, from the next one on; also of a job that was stopped. Ticks of the pause are not made up for.',
    permission: 'cronjob.update',
    object: ({ params }) => `cronjob:${params.cronJobID}`,
    params: CronJobID,
    response: Changed,
    // Repeating it changes nothing more.
    idempotent: false,

    async handle({ params, em }, { pool }) {
      const now = await readClock(pool);
      const resume = (job: CronJob) => Object.assign(job, { pausedAt: null, stoppedAt: null, stopReason: null });
      return { cronJob: await change(em, params.cronJobID, { now, make: resume }), message: 'Cron job resumed' };
    },
  }),
];

interface Change {
  now: Date;
  make(job: CronJob): void;
}

function change(em: EntityManager, id: string, { now, make }: Change) {
  return em.transactional(async (tx) => {
    const job = await getCronJob(tx, id, { lock: true });
    const before = { ...job };
    make(job);
    schedule(job, { before, now: now.getTime() });
    await tx.flush();
    return presentCronJob(job);
  });
}
