import type { Logger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import { createOrm } from '#shared/entities/orm.ts';
import { migrate } from '#shared/entities/schema.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import type { Config } from '#shared/process/config.ts';

/** Migrates our own tables, then the storage of the queues; answers with the names of the migrations that ran. */
export async function migrateAll(config: Config, backplane: Backplane, logger: Logger): Promise<string[]> {
  const orm = await createOrm({ ...config.db, poolSize: 2 }, logger);
  const pool = createPool(config.db, logger, { max: 1, name: 'gantry.migrate' });
  try {
    const applied = await migrate(orm, pool, logger);
    await backplane.migrate();
    return applied;
  } finally {
    await orm.close();
    await pool.end();
  }
}
