import type { Pool } from '#shared/db/pool.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { CronTick } from '#shared/entities/tables/cron-tick.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { reasons } from '#shared/triggers/cron/reasons.ts';
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

  async handle({ params, query, em }, { pool }) {
    const { id: cronJobID } = await getCronJob(em, params.cronJobID);
    const { status, outcome } = query;
    const where = { cronJobID, ...(status && { status }), ...(outcome && { outcome }) };
    const { rows, fields } = await findPage(em, CronTick, { where, query, newestBy: 'scheduledAt' });
    const started = await readStarts(em, rows);
    const blockers = await readBlockers(pool, rows);
    const { totalCount, totalPages = 0, page = 1 } = fields;
    return {
      cronJobHistory: rows.map((tick) =>
        presentTick(tick, { began: started.get(tick.instanceID ?? ''), blockedBy: blockers.get(tick.id) }),
      ),
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

/** The runs that went on when ticks were skipped because of an earlier one, by the ids of those ticks. */
async function readBlockers(pool: Pool, ticks: readonly CronTick[]): Promise<ReadonlyMap<string, string>> {
  const ids = ticks.flatMap(({ id, outcome }) => (outcome === 'skipped' ? [id] : []));
  if (ids.length === 0) return new Map();
  // A pause has no run that stands in the way.
  const values = [ids, [reasons.busy, reasons.full]];
  const { rows } = await pool.query<{ id: string; instanceID: string }>(BLOCKERS, values);
  return new Map(rows.map(({ id, instanceID }) => [id, instanceID]));
}

const BLOCKERS = `
select skipped.id, blocker.instance_id as "instanceID" from cron_tick skipped cross join lateral (
  select instance_id from cron_tick where cron_job_id = skipped.cron_job_id and scheduled_at < skipped.scheduled_at and instance_id is not null
  and (finished_at is null or finished_at >= skipped.created_at) order by scheduled_at desc limit 1
) blocker where skipped.id = any($1::uuid[]) and skipped.reason = any($2::text[])`;
