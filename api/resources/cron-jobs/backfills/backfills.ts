import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { CronBackfill } from '#shared/entities/tables/cron-backfill.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { findPage } from '../../../http/fields/paging.ts';
import { readClock } from '../database-time.ts';
import { getCronJob } from '../find.ts';
import { CronJobID } from '../schemas.ts';
import { targetAccess } from '../target.ts';
import { countTicks, endTicks, type TickCounts } from './rows.ts';
import { type Backfill, BackfillCreate, BackfillID, BackfillList, Backfills, OneBackfill } from './schemas.ts';

export const backfillRoutes = [
  tenantRoute({
    name: 'createCronBackfill',
    method: 'post',
    path: '/cronjobs/:cronJobID/backfills',
    summary: 'Backfill a cron job',
    description:
      'Starts the ticks of a past range that were not started in their time, one after the other, as the creator of the job. The caller needs the permission to execute the work as well.',
    status: 201,
    permission: 'cronjob.update',
    object: ({ params }) => `cronjob:${params.cronJobID}`,
    params: CronJobID,
    body: BackfillCreate,
    response: OneBackfill,
    errors: ['409'],
    idempotent: 'transaction',

    async handle({ params, body, caller, em, tenantID, require }, { pool }) {
      const now = await readClock(pool);
      const { from: fromAt, to: toAt = now } = body;
      if (toAt > now) throw invalidField('to', 'must not be in the future');
      if (fromAt > toAt) throw invalidField('from', 'must not be after the end');
      const job = await getCronJob(em, params.cronJobID);
      await require([targetAccess(job.cronJobType, job.cronJobConfig)]);
      if (job.stoppedAt) throw new AppError('CONFLICT', 'The cron job is stopped: resume it before');
      const backfill = em.create(CronBackfill, {
        id: newID(),
        tenantID,
        cronJobID: job.id,
        fromAt,
        toAt,
        creatorID: caller.userID ?? caller.id,
        createdByApiKeyID: caller.type === 'apiKey' ? caller.id : null,
        createdAt: now,
        updatedAt: now,
      });
      em.persist(backfill);
      await em.flush();
      return { backfill: present(backfill, { SCHEDULED: 0, SUCCESS: 0, FAILURE: 0 }), message: 'Backfill started' };
    },
  }),

  tenantRoute({
    name: 'listCronBackfills',
    method: 'get',
    path: '/cronjobs/:cronJobID/backfills',
    summary: 'List backfills',
    description: 'Returns the backfills of a cron job with their progress, newest first.',
    permission: 'cronjob.read',
    object: ({ params }) => `cronjob:${params.cronJobID}`,
    params: CronJobID,
    query: BackfillList,
    response: Backfills,

    async handle({ params, query, em }, { pool }) {
      const { id: cronJobID } = await getCronJob(em, params.cronJobID);
      const { rows, fields } = await findPage(em, CronBackfill, { where: { cronJobID }, query });
      const counts = await countTicks(
        pool,
        rows.map(({ id }) => id),
      );
      return { backfills: rows.map((backfill) => present(backfill, counts(backfill.id))), ...fields };
    },
  }),

  tenantRoute({
    name: 'getCronBackfill',
    method: 'get',
    path: '/cronjobs/:cronJobID/backfills/:backfillID',
    summary: 'Get a backfill',
    description: 'Returns how far a backfill is.',
    permission: 'cronjob.read',
    object: ({ params }) => `cronjob:${params.cronJobID}`,
    params: BackfillID,
    response: OneBackfill,

    async handle({ params, em }, { pool }) {
      return { backfill: await presentOne(pool, await getBackfill(em, params)), message: 'Backfill found' };
    },
  }),

  tenantRoute({
    name: 'stopCronBackfill',
    method: 'delete',
    path: '/cronjobs/:cronJobID/backfills/:backfillID/stop',
    summary: 'Stop a backfill',
    description: 'Starts no more ticks of a backfill, and cancels the run that goes on.',
    permission: 'cronjob.update',
    object: ({ params }) => `cronjob:${params.cronJobID}`,
    params: BackfillID,
    response: OneBackfill,

    async handle({ params, em, caller }, { pool, runs }) {
      const backfill = await getBackfill(em, params);
      const now = await readClock(pool);
      em.assign(backfill, {
        cancelledAt: backfill.cancelledAt ?? now,
        cancelledBy: backfill.cancelledBy ?? caller.userID ?? caller.id,
      });
      await em.flush();
      // After the commit, so that no worker adds others. Stopping it again repeats what an interrupted request has left.
      await endTicks({ pool, runs }, { id: backfill.id, reason: 'The backfill was cancelled' });
      return { backfill: await presentOne(pool, backfill), message: 'Backfill stopped' };
    },
  }),
];

async function getBackfill(em: EntityManager, { cronJobID, backfillID }: z.output<typeof BackfillID>) {
  const backfill = await em.findOne(CronBackfill, { id: backfillID, cronJobID });
  if (!backfill) throw new AppError('NOT_FOUND', 'Backfill not found');
  return backfill;
}

async function presentOne(pool: Pool, backfill: CronBackfill): Promise<z.input<typeof Backfill>> {
  return present(backfill, (await countTicks(pool, [backfill.id]))(backfill.id));
}

function present(backfill: CronBackfill, counts: TickCounts): z.input<typeof Backfill> {
  const { id, cronJobID, fromAt, toAt, found, leftOut, isCut, creatorID } = backfill;
  return {
    id,
    backfillID: id,
    cronJobID,
    from: fromAt.toISOString(),
    to: toAt.toISOString(),
    status: statusOf(backfill, counts),
    total: found,
    leftOut,
    isCut,
    counts,
    filledAt: backfill.filledAt?.toISOString() ?? null,
    cancelledAt: backfill.cancelledAt?.toISOString() ?? null,
    cancelledBy: backfill.cancelledBy ?? null,
    creatorID,
    createdByApiKeyID: backfill.createdByApiKeyID ?? null,
    createdAt: backfill.createdAt.toISOString(),
  };
}

function statusOf({ filledAt, cancelledAt }: CronBackfill, { SCHEDULED }: TickCounts) {
  if (cancelledAt) return SCHEDULED > 0 ? 'RUNNING' : 'CANCELLED';
  if (!filledAt) return 'FILLING';
  return SCHEDULED > 0 ? 'RUNNING' : 'COMPLETED';
}
