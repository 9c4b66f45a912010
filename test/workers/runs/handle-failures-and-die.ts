/** Handles the failures of runs and is killed at the given point, as a worker may be: argv is the point. */

import { createLogger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import { readConfig } from '#shared/process/config.ts';
import { createFailureRounds } from '#workers/runs/failure-handlers.ts';

const [point] = process.argv.slice(2) as [string];
const pool = createPool(readConfig().db, createLogger({ level: 'silent' }));
const die = () => void process.kill(process.pid, 'SIGKILL');

pool.on('connect', (client) => {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const dying = async (...args: unknown[]) => {
    const answer = await query(...args);
    // The run of the handler is inserted, and the transaction not committed.
    if (point === 'before-commit' && String(args[0]).includes('set handled_at')) die();
    return answer;
  };
  Object.assign(client, { query: dying });
});
const handle = createFailureRounds({
  pool,
  runs: {
    async dispatchQueued() {
      die();
      return 0;
    },
  },
  rights: { may: async () => true },
  inFlight: { addMany: async (_tenantID, count) => ({ granted: count, refusal: undefined }) },
});
await handle();
await new Promise((resolve) => setTimeout(resolve, 10_000));
