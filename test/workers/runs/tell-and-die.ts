/** Tells a receiver of the end of a run and is killed when the answer has come, before it is recorded. */

import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import { readConfig } from '#shared/process/config.ts';
import { createOutbound } from '#workers/outbound/gate.ts';
import { createSender } from '#workers/runs/completion-sender.ts';
import { createDeliveries } from '#workers/runs/completion-webhooks.ts';

const [secret = ''] = process.argv.slice(2);
const config = readConfig();
const logger = createLogger({ level: 'silent' });
const pool = createPool(config.db, logger);
const variables = { read: async () => new Map([['hook', { isSecret: true as const, open: () => secret }]]) };
const sender = createSender({ outbound: createOutbound({ allow: config.outbound.allow }), variables });
const deliveries = createDeliveries({
  pool,
  logger,
  bytes: createMemoryBudget({ maxBytes: 1_000_000 }),
  sender: {
    async send(delivery, signal) {
      await sender.send(delivery, signal);
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => undefined);
    },
  },
  onEnd: () => undefined,
});
await deliveries.begin();
await new Promise((resolve) => setTimeout(resolve, 10_000));
