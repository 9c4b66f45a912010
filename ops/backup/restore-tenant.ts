import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { PoolClient } from 'pg';
import * as copyStreams from 'pg-copy-streams';
import { newID } from '#shared/core/ids.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { requireSchema } from '#shared/entities/schema.ts';
import { endLocked } from '#shared/runs/end-tree.ts';
import { nextTick, type Timed } from '#shared/triggers/cron/next-tick.ts';
import { type DatabaseRow, requireFree, requireProgramsFor, serverFor } from './databases.ts';
import { inOrder, withoutTriggers } from './load-truth.ts';
import { withLock } from './lock.ts';
import type { Backup, TableUnit } from './manifest.ts';
import type { Deployment } from './open-deployment.ts';
import { readUnit } from './parts.ts';
import { checkBackup, findRestoring, type RestoreOptions, restoreDatabases, restoreFiles } from './restore.ts';
import type { BackupStore } from './store.ts';
import { readTables } from './tables.ts';
import { SHUT, SWITCHED_OFF, type TenantTable, tenantTables } from './tenant-tables.ts';

/**
 * Restores one tenant beside others, into a deployment that may be at work. Nothing of it acts by itself: open runs are cancelled, cron
 * jobs paused and listeners switched off. `resumeTenant` switches on again what the restore has switched off.
 */
export async function restoreTenant(
  deployment: Deployment,
  options: RestoreOptions & { tenantID: string },
): Promise<void> {
  await withLock(deployment.pool, 'restore', () => restore(deployment, options));
}

async function restore(deployment: Deployment, options: RestoreOptions & { tenantID: string }): Promise<void> {
  const { pool } = deployment;
  const { store, tenantID, say } = options;
  const backup = await checkBackup(deployment, options);
  await requireSchema(pool);
  await requireEqualSchema(pool, backup);
  let restoring = await findRestoring(pool, { ...options, backup });
  if (!restoring) {
    const restoreID = newID();
    const check = (row: LoadedDatabase) => checkDatabase(row, deployment, { ...options, backup });
    await loadTenant(pool, { store, backup, tenantID, restoreID, check, say });
    restoring = { ...options, backup, restoreID, done: new Set() };
  }
  await restoreDatabases(deployment, restoring);
  await restoreFiles(deployment, restoring);
  await pool.query(OPEN_TENANT, [restoring.restoreID]);
}

type LoadedDatabase = Pick<DatabaseRow, 'server' | 'database_name' | 'role_name'>;

async function checkDatabase(
  row: LoadedDatabase,
  { config, pool, servers }: Deployment,
  { backup, tenantID, isWithoutDatabases, startTenantServer }: RestoreOptions & { backup: Backup; tenantID: string },
): Promise<void> {
  if (isWithoutDatabases) return;
  if (!backup.databases.some((unit) => unit.tenantID === tenantID))
    throw new Error(
      `The backup has no database of the tenant ${tenantID}, though the tenant had one: use another backup, or restore the tenant without it by --without-tenant-databases`,
    );
  await startTenantServer?.();
  const database = { ...row, server: serverFor(row, servers) };
  await requireProgramsFor([database], { servers, programs: config.tenantDatabases.programs ?? '' });
  await requireFree(database, { pool, servers });
}

async function requireEqualSchema(pool: Pool, { migrations, version }: Backup): Promise<void> {
  const { rows } = await pool.query<{ name: string }>('select name from schema_migration');
  const other = rows.find(({ name }) => !migrations.includes(name));
  if (other)
    throw new Error(
      `The backup is of an older schema (Gantry ${version}; it lacks ${other.name}), and a tenant is restored into the same one only. Restore the backup into an empty deployment of this version, back that up, and restore the tenant from there`,
    );
}

const OPEN_TENANT = `
with restored as (update deployment_restore set phase = 'loaded' where id = $1 returning restored_tenant_id)
update tenant set deleting_at = null from restored where tenant.id = restored.restored_tenant_id and deleting_at = ${SHUT}`;

interface Load {
  store: BackupStore;
  backup: Backup;
  tenantID: string;
  restoreID: string;
  /** Throws, before anything is written, if the tenant's database cannot be restored. */
  check(row: LoadedDatabase): Promise<void>;
  say(line: string): void;
}

const RESTORED = {
  code: 'RESTORED',
  message: 'The tenant was restored from a backup, and this may have been done since the backup was made',
};

/**
 * Reads the rows into temporary tables first, and then inserts them in one transaction. Writes to those tables, also of other tenants, wait
 * for that transaction, because it switches triggers off.
 */
async function loadTenant(pool: Pool, load: Load): Promise<void> {
  const client = await pool.connect();
  try {
    const tables = tenantTables(await readTables(client));
    const units = inOrder(
      load.backup.tables.filter(({ table }) => tables.some(({ name }) => name === table)),
      tables,
    );
    await requireAbsent(client, load.tenantID);
    for (const table of loadOrder(tables)) {
      const unit = units.find((one) => one.table === table.name);
      if (unit) await readTable(client, table, { ...load, unit });
    }
    const { rows } = await client.query('select from pg_temp.restored_tenant');
    if (rows.length === 0) throw new Error(`The backup has no tenant ${load.tenantID}`);
    const databases = await client.query<LoadedDatabase>(
      'select server, database_name, role_name from pg_temp.restored_tenant_database where ready_at is not null',
    );
    for (const row of databases.rows) await load.check(row);
    const switchedOff = await readSwitchedOff(client);
    for (const { name } of tables)
      if (SWITCHED_OFF[name])
        await client.query(
          `update pg_temp.restored_${name} ${SWITCHED_OFF[name]}`,
          SWITCHED_OFF[name].includes('$1') ? [JSON.stringify(RESTORED)] : [],
        );
    await client.query('begin');
    await client.query(`set local lock_timeout = '10s'`);
    await withoutTriggers(client, tables, async () => {
      await requireAbsent(client, load.tenantID);
      for (const table of tables) await insertRows(client, table, load);
      await client.query(RAISE_AUDIT_SEQUENCE, [load.tenantID]);
      await endRuns(client, load.tenantID);
    });
    await client.query(
      'insert into deployment_restore (id, backup_id, restored_tenant_id, snapshot_at, switched_off) values ($1, $2, $3, $4, $5)',
      [load.restoreID, load.backup.id, load.tenantID, load.backup.snapshotAt, JSON.stringify(switchedOff)],
    );
    await client.query('commit');
  } finally {
    // Ends the transaction and the temporary tables.
    client.release(true);
  }
}

/** Rows that others name come last: they are told by the others. */
function loadOrder(tables: readonly TenantTable[]): TenantTable[] {
  const own = tables.filter(({ belongs }) => !belongs);
  const named = tables.filter(({ belongs }) => belongs);
  return [
    ...own,
    ...named.toSorted((a, b) => Number(a.belongs?.to === 'run_map') - Number(b.belongs?.to === 'run_map')),
  ];
}

async function requireAbsent(client: PoolClient, tenantID: string): Promise<void> {
  const { rowCount } = await client.query('select from tenant where id = $1', [tenantID]);
  if (rowCount)
    throw new Error(`The target has the tenant ${tenantID} already: delete it first, or restore it elsewhere`);
}

async function readTable(
  client: PoolClient,
  { name, columns, tenantColumn, belongs }: TenantTable,
  { store, unit, tenantID }: Load & { unit: TableUnit },
): Promise<void> {
  const temporary = `pg_temp.restored_${name}`;
  await client.query(`create temporary table restored_${name} (like ${name})`);
  const copy = client.query(copyStreams.from(`copy ${temporary} (${unit.columns.join(', ')}) from stdin`));
  const position = tenantColumn === undefined ? -1 : unit.columns.indexOf(tenantColumn);
  await pipeline(readUnit(store, unit), linesOf(position, tenantID), copy);
  if (belongs)
    await client.query(
      `delete from ${temporary} r where not exists (select from pg_temp.restored_${belongs.to} o where o.${belongs.key} = r.${belongs.column})`,
    );
  if (columns.includes('id')) await client.query(`create index on ${temporary} (id)`);
}

/** Lines of COPY whose column has the value; all lines if there is no such column. A tab or a line end in a value is escaped there. */
function linesOf(position: number, value: string): Transform {
  if (position === -1) return new Transform({ transform: (chunk, _encoding, done) => done(null, chunk) });
  let rest = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
      const wanted: Buffer[] = [];
      let from = 0;
      for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
        const line = bytes.subarray(from, end + 1);
        if (columnOf(line, position) === value) wanted.push(line);
        from = end + 1;
      }
      rest = Buffer.from(bytes.subarray(from));
      done(null, wanted.length > 0 ? Buffer.concat(wanted) : undefined);
    },
  });
}

function columnOf(line: Buffer, position: number): string {
  let from = 0;
  for (let n = 0; n < position; n += 1) from = line.indexOf(9, from) + 1;
  const end = line.indexOf(9, from);
  return line.subarray(from, end === -1 ? line.length - 1 : end).toString();
}

async function insertRows(client: PoolClient, table: TenantTable, { say }: Load): Promise<void> {
  const { name, columns, identity } = table;
  // Numbers of the trail are sealed with it; others may belong to another row here.
  const own = columns.filter((column) => column !== identity || name === 'audit_record').join(', ');
  const where = CONDITIONS[name] ?? '';
  const { rowCount } = await client.query(
    `insert into ${name} (${own}) overriding system value select ${own} from pg_temp.restored_${name} r ${where}`,
  );
  if (rowCount) say(`  ${name}: ${rowCount} rows`);
}

/** Before the commit: no worker sees them open. */
async function endRuns(client: PoolClient, tenantID: string): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ id: string }>(
      'select id from workflow_instance where tenant_id = $1 and completed_at is null limit 500',
      [tenantID],
    );
    if (rows.length === 0) return;
    const ids = rows.map(({ id }) => id);
    await endLocked(client, ids, { status: 'CANCELLED', error: { ...RESTORED, nodeID: null, attempt: null } });
  }
}

/** New records of the trail come after those that were restored. */
const RAISE_AUDIT_SEQUENCE = `
select setval('audit_record_seq_seq', r.seq) from (select max(seq) as seq from audit_record where tenant_id = $1) r
where r.seq > (select last_value from audit_record_seq_seq)`;

/** A person may be known here already. One who is known under another id is left out, with the membership. */
const CONDITIONS: Readonly<Record<string, string>> = {
  app_user: 'on conflict do nothing',
  membership: 'where exists (select from app_user u where u.id = r.user_id)',
  user_config: 'where exists (select from app_user u where u.id = r.user_id)',
};

interface SwitchedOff {
  cronJobs: string[];
  listeners: string[];
}

async function readSwitchedOff(client: PoolClient): Promise<SwitchedOff> {
  const { rows } = await client.query<SwitchedOff>(`
select array(select id from pg_temp.restored_cron_job where paused_at is null) as "cronJobs",
  array(select id from pg_temp.restored_listener where status <> 'inactive') as listeners`);
  return rows[0] ?? { cronJobs: [], listeners: [] };
}

/** Switches on the cron jobs and listeners that the restore of the tenant has switched off. */
export async function resumeTenant(pool: Pool, tenantID: string): Promise<SwitchedOff> {
  return await inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ id: string; phase: string; switchedOff: SwitchedOff }>(
      `select id, phase, switched_off as "switchedOff" from deployment_restore where restored_tenant_id = $1 and resumed_at is null for update`,
      [tenantID],
    );
    const [row] = rows;
    if (!row) throw new Error(`There is nothing to resume: the tenant ${tenantID} waits for no restore`);
    if (row.phase === 'loading')
      throw new Error('The restore has not ended: run the same "gantry restore" again first');
    const { cronJobs, listeners } = row.switchedOff;
    const jobs = await client.query<Timed>(
      'select id, cron_job_schedule as "cronJobSchedule", timezone, jitter_seconds as "jitterSeconds" from cron_job where id = any($1) for update',
      [cronJobs],
    );
    for (const job of jobs.rows) {
      const { nextAt, dueAt } = nextTick(job, Date.now());
      await client.query('update cron_job set paused_at = null, next_at = $2, due_at = $3 where id = $1', [
        job.id,
        nextAt,
        dueAt,
      ]);
    }
    await client.query(`update listener set status = 'active' where id = any($1)`, [listeners]);
    await client.query('update deployment_restore set resumed_at = now() where id = $1', [row.id]);
    return row.switchedOff;
  });
}
