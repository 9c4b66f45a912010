import { pipeline } from 'node:stream/promises';
import type { PoolClient } from 'pg';
import * as copyStreams from 'pg-copy-streams';
import type { Logger } from '#shared/core/logger.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { createOrm } from '#shared/entities/orm.ts';
import type { Config } from '#shared/process/config.ts';
import type { Backup, TableUnit } from './manifest.ts';
import { readUnit } from './parts.ts';
import type { BackupStore } from './store.ts';
import { readTables, type Table } from './tables.ts';

/** Brings an empty database to the schema of the backup: a later version changes the rows when it migrates further. */
export async function migrateAsBackup({ db }: Config, { migrations }: Backup, logger: Logger): Promise<void> {
  const to = migrations.at(-1);
  if (to === undefined) throw new Error('The backup names no migrations');
  const orm = await createOrm({ ...db, poolSize: 2 }, logger);
  try {
    await orm.migrator.up({ to });
  } finally {
    await orm.close();
  }
}

/**
 * Loads all tables in one transaction, whose last statement is the mark that workers wait for. If it is interrupted, the database is as
 * empty as before.
 */
export async function loadTruth(
  pool: Pool,
  { store, backup, restoreID, say }: { store: BackupStore; backup: Backup; restoreID: string; say(line: string): void },
): Promise<void> {
  await inTransaction(pool, async (client) => {
    // No worker opens a lease before the commit.
    await client.query('lock table deployment_restore, worker_session in exclusive mode');
    await requireEmpty(client);
    const tables = await readTables(client);
    await withoutTriggers(client, tables, () => loadTables(client, tables, { store, backup, say }));
    await client.query(`insert into deployment_restore (id, backup_id, snapshot_at) values ($1, $2, $3)`, [
      restoreID,
      backup.id,
      backup.snapshotAt,
    ]);
  });
  await pool.query('analyze');
}

async function loadTables(
  client: PoolClient,
  tables: readonly Table[],
  { store, backup, say }: { store: BackupStore; backup: Backup; say(line: string): void },
): Promise<void> {
  for (const { name } of tables.toReversed()) await client.query(`delete from ${name}`);
  for (const unit of inOrder(backup.tables, tables)) {
    await loadTable(client, store, unit);
    if (unit.rows > 0) say(`  ${unit.table}: ${unit.rows} rows`);
  }
  for (const { name, value } of backup.sequences) await client.query('select setval($1::regclass, $2)', [name, value]);
  for (const statement of AFTERWARDS) await client.query(statement);
}

/** Triggers have done their work in the database that was backed up. Foreign keys are checked. */
export async function withoutTriggers(
  client: PoolClient,
  tables: readonly Table[],
  work: () => Promise<void>,
): Promise<void> {
  for (const { name } of tables) await client.query(`alter table ${name} disable trigger user`);
  await work();
  await client.query('set constraints all immediate');
  for (const { name } of tables) await client.query(`alter table ${name} enable trigger user`);
}

/** Throws if the database has tenants, users or operators, or workers that work. */
export async function requireEmpty(client: Pick<PoolClient, 'query'>): Promise<void> {
  const { rows } = await client.query<{ has: string; count: number }>(CONTENT);
  const found = rows.filter(({ count }) => count > 0);
  if (found.length > 0)
    throw new Error(
      `The target is not empty: it has ${found.map(({ has, count }) => `${count} ${has}`).join(', ')}. Restore into an empty database (a new GANTRY_HOME or DATABASE_URL), or one tenant beside others with --tenant`,
    );
}

/** Units in the order in which the target loads its tables. */
export function inOrder(units: readonly TableUnit[], tables: readonly Table[]): TableUnit[] {
  const position = new Map(tables.map(({ name }, n) => [name, n]));
  const unknown = units.find(({ table }) => !position.has(table));
  if (unknown) throw new Error(`The backup has a table that the target lacks: ${unknown.table}`);
  return units.toSorted((a, b) => (position.get(a.table) ?? 0) - (position.get(b.table) ?? 0));
}

async function loadTable(client: PoolClient, store: BackupStore, unit: TableUnit): Promise<void> {
  const { table, columns, rows } = unit;
  const copy = client.query(copyStreams.from(`copy ${table} (${columns.join(', ')}) from stdin`));
  await pipeline(readUnit(store, unit), copy);
  if (copy.rowCount !== rows)
    throw new Error(`The backup is damaged: ${unit.name} has ${copy.rowCount} rows, and the manifest says ${rows}`);
}

const CONTENT = `
select 'tenants' as has, count(*)::int as count from tenant
union all select 'users', count(*)::int from app_user
union all select 'operators', count(*)::int from operator
union all select 'workers at work', count(*)::int from worker_session where ended_at is null and expires_at > now()`;

/** Ends rows of processes that are gone. The queues are new: the sweep fills them when it finds no mark of theirs. */
const AFTERWARDS = [
  `delete from service_state where key in ('queues', 'sentinel')`,
  'update listener_lease set held_by = null',
  'delete from listener_owner',
  'update worker_session set ended_at = now() where ended_at is null',
  'update tenant_database set move_id = null, moving_until = null, full_since = null, measured_at = null',
];
