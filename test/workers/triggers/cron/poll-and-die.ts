/** Polls cron jobs and is killed at the given point, as a worker may be: argv is the point. */

import { createLogger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import { readConfig } from '#shared/process/config.ts';
import { createCronScheduler } from '#workers/triggers/cron/scheduler.ts';

const [point] = process.argv.slice(2) as [string];
const logger = createLogger({ level: 'silent' });
const pool = createPool(readConfig().db, logger);
const die = () => void process.kill(process.pid, 'SIGKILL');

pool.on('connect', (client) => {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const dying = async (...args: unknown[]) => {
    const answer = await query(...args);
    // The run and its tick are inserted, and the transaction not committed.
    if (point === 'before-commit' && String(args[0]).includes('insert into workflow_instance')) die();
    return answer;
  };
  Object.assign(client, { query: dying });
});
const scheduler = createCronScheduler({
  pool,
  runs: {
    async dispatchQueued() {
      die();
      return 0;
    },
    end: async () => [],
  },
  rights: { may: async () => true },
  lateMs: 150_000,
  logger,
});
await scheduler.poll();
await new Promise((resolve) => setTimeout(resolve, 10_000));
