import type { MikroORM } from '@mikro-orm/postgresql';
import { AppError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Pool } from '../db/pool.ts';
import { migrationNames } from './migrations/names.ts';

const MIGRATION_LOCK = 7_265_001;

/** Applies missing migrations. Of several processes one migrates and the others wait. */
export async function migrate(orm: MikroORM, pool: Pool, logger: Logger): Promise<string[]> {
  const client = await pool.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const done = await orm.migrator.up();
    for (const { name } of done) logger.info({ migration: name }, 'migrated');
    return done.map(({ name }) => name);
  } finally {
    await client.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    client.release();
  }
}

/** Refuses a schema that is older than this code needs. A newer one is fine, since migrations only add. */
export async function requireSchema(pool: Pool): Promise<void> {
  const { rows } = await pool
    .query<{ name: string }>(`select name from schema_migration`)
    .catch((error: { code?: string }) => {
      if (error.code === '42P01') return { rows: [] };
      throw error;
    });
  const applied = new Set(rows.map(({ name }) => name));
  if (migrationNames.some((name) => !applied.has(name)))
    throw new AppError(
      'UNAVAILABLE',
      `The database schema is older than this version needs (${migrationNames.at(-1)}): run "node ops/migrate.ts" in the image, or "npm run migrate" in a clone`,
    );
}
