/** `npm run migrate`: brings the schema and the queues' storage up to date. Safe to run from several places at once. */

import { createLogger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import { describeNewerSchema } from '#shared/entities/schema.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { describeFailure } from '#shared/process/start-failure.ts';
import { migrateAll } from './migrate-all.ts';

try {
  const config = readConfig();
  const logger = createLogger(config.log, { process: 'migrate' });
  await using backplane = await createBackplane(config.backplane, logger);
  const applied = await migrateAll(config, backplane, logger);
  const pool = createPool(config.db, logger, { max: 1, name: 'gantry.migrate' });
  const newer = await describeNewerSchema(pool).finally(() => pool.end());
  if (newer !== undefined) logger.warn(newer);
  logger.info(
    { applied: applied.length },
    applied.length > 0 ? 'the schema is up to date now' : 'the schema was up to date',
  );
} catch (error) {
  console.error(`The schema was not brought up to date: ${describeFailure(error)}`);
  process.exitCode = 1;
}
