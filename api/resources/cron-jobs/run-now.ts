import { newID } from '#shared/core/ids.ts';
import { CronTick } from '#shared/entities/tables/cron-tick.ts';
import { tenantRoute } from '../../context/routes.ts';
import { readClock } from './database-time.ts';
import { getCronJob } from './find.ts';
import { presentTick } from './history/present-tick.ts';
import { Asked } from './history/schemas.ts';
import { CronJobID } from './schemas.ts';
import { targetAccess } from './target.ts';

export const runCronJob = tenantRoute({
  name: 'runCronJob',
  method: 'post',
  path: '/cronjobs/:cronJobID/run',
  summary: 'Run a cron job now',
  description:
    'Adds a tick that a worker starts within a second, beside any work that goes on, also for a job that is paused or disabled. It runs as the creator of the job; the caller needs the permission to execute the work as well.',
  permission: 'cronjob.update',
  object: ({ params }) => `cronjob:${params.cronJobID}`,
  params: CronJobID,
  response: Asked,
  idempotent: 'transaction',

  async handle({ params, em, tenantID, require }, { pool }) {
    const now = await readClock(pool);
    return em.transactional(async (tx) => {
      const job = await getCronJob(tx, params.cronJobID, { lock: true });
      await require([targetAccess(job.cronJobType, job.cronJobConfig)]);
      const { id: cronJobID } = job;
      const scheduledAt = new Date(now);
      // A job has at most one tick for each time. Concurrent requests wait for the lock of the job.
      while ((await tx.count(CronTick, { cronJobID, scheduledAt })) > 0)
        scheduledAt.setMilliseconds(scheduledAt.getMilliseconds() + 1);
      const tick = tx.create(CronTick, {
        id: newID(),
        tenantID,
        cronJobID,
        scheduledAt,
        triggerType: 'MANUAL',
        status: 'SCHEDULED',
        outcome: 'fired',
        startAt: now,
        createdAt: now,
      });
      tx.persist(tick);
      job.dueAt = now;
      await tx.flush();
      return { cronJobHistory: presentTick(tick), message: 'Cron job started' };
    });
  },
});
