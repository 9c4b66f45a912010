import { LockMode } from '@mikro-orm/postgresql';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { CronJob } from '#shared/entities/tables/cron-job.ts';

/** With `lock`, no worker starts ticks of the job until the transaction ends. */
export async function getCronJob(em: EntityManager, id: string, { lock = false } = {}): Promise<CronJob> {
  const options = lock ? { lockMode: LockMode.PESSIMISTIC_WRITE as const } : {};
  const cronJob = await em.findOne(CronJob, { id }, options);
  if (!cronJob) throw new AppError('NOT_FOUND', 'Cron job not found');
  return cronJob;
}
