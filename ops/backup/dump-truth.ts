import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { findSealingKeys } from '#shared/db/sealed-rows.ts';
import type { Backup, TableUnit } from './manifest.ts';
import { type Throttle, writeParts } from './parts.ts';
import type { BackupStore } from './store.ts';
import { readTables } from './tables.ts';

export type Truth = Pick<Backup, 'migrations' | 'keys' | 'sequences' | 'tables' | 'snapshotAt'>;

/**
 * Reads the truth database in one snapshot: all tables are of the same moment, while the service goes on writing. Postgres keeps the
 * versions of rows that the snapshot sees until it ends.
 */
export async function dumpTruth(
  url: string,
  target: { store: BackupStore; throttle: Throttle; say(line: string): void },
): Promise<Truth> {
  const client = new pg.Client({ connectionString: url, application_name: 'gantry.backup' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    const snapshot = await client.query<{ at: Date }>('select clock_timestamp() as at');
    const migrations = await client.query<{ name: string }>('select name from schema_migration order by id');
    const tables: TableUnit[] = [];
    for (const table of await readTables(client)) tables.push(await dumpTable(client, table, target));
    // Read last: a sequence is of no snapshot, and must be as far as any row.
    const sequences = await client.query<{ name: string; value: number }>(SEQUENCES);
    return {
      snapshotAt: snapshot.rows[0]?.at.toISOString() ?? null,
      migrations: migrations.rows.map(({ name }) => name),
      keys: await readKeys(client),
      sequences: sequences.rows,
      tables,
    };
  } finally {
    await client.end();
  }
}

async function dumpTable(
  client: pg.Client,
  { name, columns }: { name: string; columns: string[] },
  { store, throttle, say }: { store: BackupStore; throttle: Throttle; say(line: string): void },
): Promise<TableUnit> {
  const stream = client.query(copyTo(`copy ${name} (${columns.join(', ')}) to stdout`));
  const unit = `truth/${name}`;
  const parts = await writeParts({ store, throttle }, unit, stream);
  if (stream.rowCount > 0) say(`  ${name}: ${stream.rowCount} rows`);
  return { name: unit, table: name, columns, rows: stream.rowCount, parts };
}

async function readKeys(client: pg.Client): Promise<Backup['keys']> {
  const ids = await findSealingKeys(client);
  const { rows } = await client.query<{ id: string; fingerprint: string }>(
    'select id, fingerprint from secret_key where id = any($1)',
    [ids],
  );
  const fingerprints = new Map(rows.map(({ id, fingerprint }) => [id, fingerprint]));
  return ids.map((id) => ({ id, fingerprint: fingerprints.get(id) ?? null }));
}

const SEQUENCES = `
select sequencename as name, last_value::float8 as value from pg_sequences
where schemaname = 'public' and last_value is not null and sequencename <> 'schema_migration_id_seq'`;
