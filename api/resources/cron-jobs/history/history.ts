import type { EntityManager } from '#shared/entities/orm.ts';
import { CronTick } from '#shared/entities/tables/cron-tick.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { findPage } from '../../../http/fields/paging.ts';
import { getCronJob } from '../find.ts';
import { CronJobID } from '../schemas.ts';
import { presentTick } from './present-tick.ts';
import { CronHistory, HistoryList } from './schemas.ts';

export const listCronJobHistory = tenantRoute({
  name: 'listCronJobHistory',
  method: 'get',
  path: '/cronjobs/:cronJobID/history',
  summary: 'List the history of a cron job',
  description:
    'Returns every tick of a job that was due, newest first, and what became of it. The last 1,000 ticks are kept.',
  permission: 'cronjob.read',
  object: ({ params }) => `cronjob:${params.cronJobID}`,
  params: CronJobID,
  query: HistoryList,
  response: CronHistory,

  async handle({ params, query, em }) {
    const { id: cronJobID } = await getCronJob(em, params.cronJobID);
    const { status, outcome } = query;
    const where = { cronJobID, ...(status && { status }), ...(outcome && { outcome }) };
    const { rows, fields } = await findPage(em, CronTick, { where, query, newestBy: 'scheduledAt' });
    const started = await readStarts(em, rows);
    const { totalCount, totalPages = 0, page = 1 } = fields;
    return {
      cronJobHistory: rows.map((tick) => presentTick(tick, started.get(tick.instanceID ?? ''))),
      ...(totalCount !== undefined && { cronJobHistoryCount: totalCount }),
      nextPage: page < totalPages ? page + 1 : null,
      ...fields,
    };
  },
});

/** Start times of the runs of ticks that have not ended. A tick itself stores the start only when its run has ended. */
async function readStarts(em: EntityManager, ticks: readonly CronTick[]): Promise<ReadonlyMap<string, Date | null>> {
  const ids = ticks.flatMap(({ status, instanceID }) => (status === 'SCHEDULED' && instanceID ? [instanceID] : []));
  if (ids.length === 0) return new Map();
  const runs = await em.find(WorkflowInstance, { id: { $in: ids } }, { fields: ['startedAt'] });
  return new Map(runs.map(({ id, startedAt }) => [id, startedAt ?? null]));
}
