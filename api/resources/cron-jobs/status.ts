import { CronJob } from '#shared/entities/tables/cron-job.ts';
import { tenantRoute } from '../../context/routes.ts';
import { countOpenTicks } from './history/open-ticks.ts';
import { CronStatuses } from './history/schemas.ts';
import { stateOf } from './present.ts';

export const getCronStatus = tenantRoute({
  name: 'getCronStatus',
  method: 'get',
  path: '/cronjobs/status/connections',
  summary: 'Status of cron jobs',
  description: 'Returns the state of each cron job of the tenant that the caller may read, by its id.',
  permission: 'cronjob.list',
  filter: true,
  response: CronStatuses,

  async handle({ em, visible }, { pool }) {
    const fields = ['cronJobEnabled', 'pausedAt', 'stoppedAt', 'nextAt'] as const;
    const jobs = await em.find(CronJob, { ...(await visible('cronjob.read')) }, { fields });
    const open = await countOpenTicks(
      pool,
      jobs.map(({ id }) => id),
    );
    const status = jobs.map((job) => {
      const { running = 0, waiting = 0 } = open.get(job.id) ?? {};
      return [
        job.id,
        { state: stateOf(job), nextRunAt: job.nextAt?.toISOString() ?? null, running, queued: waiting },
      ] as const;
    });
    return { status: Object.fromEntries(status), message: 'Status of cron jobs' };
  },
});
