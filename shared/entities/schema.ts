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

/** Refuses a schema that is older than this code needs. A newer one is fine, since migrations only add, but is said in the log. */
export async function requireSchema(pool: Pool, logger?: Logger): Promise<void> {
  const comparison = await compareSchema(pool);
  requireComplete(comparison);
  const newer = describeNewer(comparison);
  if (newer !== undefined) logger?.warn({ unknown: comparison.unknown }, newer);
}

/** A sentence if a newer version has migrated the database; else undefined. */
export async function describeNewerSchema(pool: Pool): Promise<string | undefined> {
  return describeNewer(await compareSchema(pool));
}

/** Refuses a schema in which migrations are missing. */
export function requireComplete({ isOlder }: SchemaComparison): void {
  if (isOlder)
    throw new AppError(
      'UNAVAILABLE',
      `The database schema is older than this version needs (${migrationNames.at(-1)}): run "node ops/migrate.ts" in the image, or "npm run migrate" in a clone`,
    );
}

/** A sentence if the schema has migrations of a newer version; else undefined. */
export function describeNewer({ unknown }: SchemaComparison): string | undefined {
  if (unknown.length === 0) return undefined;
  const count = unknown.length === 1 ? 'a migration' : `${unknown.length} migrations`;
  return `This program is older than its database: a newer version has made ${count} that it does not know (${unknown.at(-1)}). Update it`;
}

interface SchemaComparison {
  /** Migrations are missing. */
  isOlder: boolean;
  /** Migrations of a newer version. */
  unknown: string[];
}

/** Compares the migrations of the database with those of this version. */
export async function compareSchema(pool: Pool): Promise<SchemaComparison> {
  const { rows } = await pool
    .query<{ name: string }>(`select name from schema_migration order by id`)
    .catch((error: { code?: string }) => {
      if (error.code === '42P01') return { rows: [] };
      throw error;
    });
  const applied = new Set(rows.map(({ name }) => name));
  const known = new Set<string>(migrationNames);
  return {
    isOlder: migrationNames.some((name) => !applied.has(name)),
    unknown: [...applied].filter((name) => !known.has(name)),
  };
}
