/** Accepts a run and is killed at the given point, as an API process may be: argv is the point and the run. */

import { createLogger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer, type Producer } from '#shared/messaging/producer.ts';
import { readConfig } from '#shared/process/config.ts';
import type { NewRun } from '#shared/runs/accept.ts';
import { createRuns } from '#shared/runs/runs.ts';

const [point, run] = process.argv.slice(2) as [string, string];
const config = readConfig();
const logger = createLogger({ level: 'silent' });
const pool = createPool(config.db, logger);
const backplane = await createBackplane(config.backplane, logger);
const real = createProducer(backplane);

const producer: Producer = {
  async enqueue(queue, payloads) {
    // The rows say "dispatched", the job does not exist yet.
    if (point === 'before-enqueue') process.kill(process.pid, 'SIGKILL');
    await real.enqueue(queue, payloads);
    if (point === 'after-enqueue') process.kill(process.pid, 'SIGKILL');
  },
};
const runs = createRuns({ pool, dispatchPool: pool, producer, messages: backplane.messages, logger });
const input = JSON.parse(run) as NewRun;
await runs.accept(input);
await new Promise((resolve) => setTimeout(resolve, 10_000));
