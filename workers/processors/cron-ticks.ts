import type { cronTicks } from '#shared/messaging/queues/cron-ticks.ts';
import type { Processor } from './consume.ts';

export const processCronTick: Processor<typeof cronTicks> = async ({ payload: { tenantID, cronJobID } }, context) => {
  const { cron, backplane, pool } = context;
  const { rowCount } = await pool.query(EXISTS, [cronJobID, tenantID]);
  if (rowCount === 0) {
    // The job was deleted.
    await backplane.removeTimer('cron.ticks', cronJobID);
    return { outcome: 'no such job' };
  }
  await cron.poll();
  return { outcome: 'looked' };
};

const EXISTS = 'select from cron_job where id = $1 and tenant_id = $2';
