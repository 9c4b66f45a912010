import { newID } from '#shared/core/ids.ts';
import { fingerprintOf } from '#shared/core/key-ring.ts';
import { createStoredFiles } from '#shared/datasources/files/files.ts';
import type { Pool } from '#shared/db/pool.ts';
import { openKeyRing } from '#shared/process/open-key-ring.ts';
import { countUnreadable, describeUnreadable } from '#shared/process/unreadable-secrets.ts';
import { migrateAll } from '../migrate-all.ts';
import { assignServer, requireFree, requireProgramsFor, restoreDatabase } from './databases.ts';
import { loadFiles } from './files.ts';
import { loadTruth, migrateAsBackup, requireEmpty } from './load-truth.ts';
import { withLock } from './lock.ts';
import { type Backup, requireKnownSchema } from './manifest.ts';
import type { Deployment } from './open-deployment.ts';
import type { BackupStore } from './store.ts';
import { verifyBackup } from './verify.ts';

export interface RestoreOptions {
  store: BackupStore;
  /** Go on although secrets are sealed with keys that are not here. */
  acceptsLostSecrets?: boolean;
  isWithoutDatabases?: boolean;
  /** Starts a server of tenants' databases that does not run yet. */
  startTenantServer?: () => Promise<void>;
  say(line: string): void;
}

/** A restore that has begun, which may be that of an earlier process. */
export interface Restoring extends RestoreOptions {
  backup: Backup;
  restoreID: string;
  /** Units that are done, and databases that are begun. */
  done: ReadonlySet<string>;
  /** Restores one tenant alone. */
  tenantID?: string;
}

/**
 * Restores everything into an empty deployment, or goes on with a restore of the same backup that was interrupted. All that can be
 * wrong with the backup or the target is found before anything is written.
 */
export async function restoreDeployment(deployment: Deployment, options: RestoreOptions): Promise<void> {
  await withLock(deployment.pool, 'restore', () => restore(deployment, options));
}

async function restore(deployment: Deployment, options: RestoreOptions): Promise<void> {
  const { config, pool, logger, backplane } = deployment;
  const { store, say } = options;
  const backup = await checkBackup(deployment, options);
  let restoring = await findRestoring(pool, { ...options, backup });
  if (!restoring) {
    if (await hasSchema(pool)) await requireEmpty(pool);
    await requireSameSchema(pool, backup);
    say('The truth database:');
    await migrateAsBackup(config, backup, logger);
    const restoreID = newID();
    await loadTruth(pool, { store, backup, restoreID, say });
    restoring = { ...options, backup, restoreID, done: new Set() };
  } else say('Going on with the restore that was interrupted');
  await migrateAll(config, backplane, logger);
  await restoreDatabases(deployment, restoring);
  await restoreFiles(deployment, restoring);
  await pool.query(`update deployment_restore set phase = 'loaded' where id = $1`, [restoring.restoreID]);
}

/** Reads all of the backup, and throws a sentence if it cannot be restored here. */
export async function checkBackup(deployment: Deployment, options: RestoreOptions): Promise<Backup> {
  const { store, say } = options;
  say(`Checking ${store.address} …`);
  const { backup } = await verifyBackup(store);
  requireKnownSchema(backup);
  if (!options.acceptsLostSecrets) requireKeys(backup, deployment);
  return backup;
}

/** Compares keys by their fingerprints: an id may name another key here. */
function requireKeys({ keys }: Backup, { config }: Deployment): void {
  const has = new Set(config.secrets.keys.map(({ key }) => fingerprintOf(key)));
  const missing = keys.filter(({ fingerprint }) => fingerprint !== null && !has.has(fingerprint));
  if (missing.length === 0) return;
  const names = missing.map(({ id, fingerprint }) => (id === fingerprint ? id : `${id} (${fingerprint})`)).join(', ');
  const known = config.secrets.keys.map(({ id }) => id).join(', ') || 'none';
  throw new Error(
    `The backup has secrets that are sealed with ${missing.length === 1 ? 'a key' : 'keys'} that ${missing.length === 1 ? 'is' : 'are'} not here: ${names}; SECRETS_KEYS has ${known}. Put the old keys into SECRETS_KEYS (npm start: into secrets-keys of its folder), or restore with --accept-lost-secrets and save those secrets again`,
  );
}

async function hasSchema(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ has: boolean }>(`select to_regclass('public.tenant') is not null as has`);
  return rows[0]?.has ?? false;
}

/** A target with a newer schema would miss what its migrations did with the rows. */
async function requireSameSchema(pool: Pool, { migrations }: Backup): Promise<void> {
  if (!(await hasSchema(pool))) return;
  const { rows } = await pool.query<{ name: string }>('select name from schema_migration');
  const more = rows.filter(({ name }) => !migrations.includes(name));
  if (more.length > 0)
    throw new Error(
      `The target has a newer schema than the backup (${more.at(-1)?.name}): restore into a database without tables, which is then brought up to date`,
    );
}

/** The restore of this backup that was interrupted. Throws if another one is under way, or was not resumed. */
export async function findRestoring(
  pool: Pool,
  options: RestoreOptions & { backup: Backup; tenantID?: string },
): Promise<Restoring | undefined> {
  const { rows: tables } = await pool.query<{ has: boolean }>(
    `select to_regclass('public.deployment_restore') is not null as has`,
  );
  if (!tables[0]?.has) return undefined;
  // The mark of a tenant that was deleted since is over: the mark was written with the tenant.
  await pool.query(
    `update deployment_restore r set resumed_at = now()
     where resumed_at is null and restored_tenant_id = $1 and not exists (select from tenant t where t.id = r.restored_tenant_id)`,
    [options.tenantID ?? null],
  );
  const { rows } = await pool.query<{ id: string; backupID: string; phase: string; done: string[] }>(
    `select id, backup_id as "backupID", phase, done from deployment_restore
     where resumed_at is null and restored_tenant_id is not distinct from $1`,
    [options.tenantID ?? null],
  );
  const [row] = rows;
  if (!row) return undefined;
  if (row.phase === 'loaded') throw new Error('The restore is complete: look at the data, then run "gantry resume"');
  if (row.backupID !== options.backup.id)
    throw new Error(
      'The target has a restore of another backup that has not ended: run that one again, or take an empty target',
    );
  return { ...options, restoreID: row.id, done: new Set(row.done) };
}

/** Restores the databases of tenants. Each counts as begun before it exists, so that only our own are dropped when this is repeated. */
export async function restoreDatabases(
  { config, pool, logger, servers }: Deployment,
  restoring: Restoring,
): Promise<void> {
  const { backup, store, done, restoreID, tenantID, isWithoutDatabases, say } = restoring;
  if (isWithoutDatabases) return;
  const secrets = await openKeyRing(config.secrets.keys, pool);
  const programs = config.tenantDatabases.programs ?? '';
  const wanted = backup.databases.filter((unit) => tenantID === undefined || unit.tenantID === tenantID);
  if (wanted.length > 0) await restoring.startTenantServer?.();
  for (const unit of wanted) {
    const begun = `begun:${unit.name}`;
    if (done.has(unit.name)) continue;
    const row = await assignServer(unit.tenantID, { pool, servers });
    if (!row) continue;
    await requireProgramsFor([row], { servers, programs });
    if (!done.has(begun)) await requireFree(row, { pool, servers });
    await note(pool, restoreID, begun);
    await restoreDatabase(row, unit, { pool, logger, servers, secrets, programs, store });
    await note(pool, restoreID, unit.name);
    say(`Database of the tenant ${unit.tenantID}`);
  }
  if (tenantID === undefined) await nameMissing(pool, restoring);
}

/** Says which tenants come back without their database. */
async function nameMissing(pool: Pool, { backup, say }: Restoring): Promise<void> {
  const has = backup.databases.map((unit) => unit.tenantID);
  const { rows } = await pool.query<{ id: string }>(
    'select tenant_id as id from tenant_database where ready_at is not null and tenant_id <> all($1::uuid[]) order by 1',
    [has],
  );
  for (const { id } of rows) say(`The database of the tenant ${id} is not in the backup: it is not restored`);
}

export async function restoreFiles({ config, pool }: Deployment, restoring: Restoring): Promise<void> {
  const { backup, store, done, restoreID, tenantID, say } = restoring;
  const stored = createStoredFiles(pool, config.files);
  const { snapshotAt } = backup;
  let missing = 0;
  for (const [n, unit] of backup.files.entries()) {
    if (done.has(unit.name)) continue;
    if (tenantID !== undefined && (tenantID < unit.firstTenantID || tenantID > unit.lastTenantID)) continue;
    const isLast = n === backup.files.length - 1;
    missing += await loadFiles(
      { pool, stored },
      { store, unit, after: backup.files[n - 1], isLast, tenantID, snapshotAt },
    );
    await note(pool, restoreID, unit.name);
    say(`Files: ${unit.files} of ${unit.name}`);
  }
  if (missing > 0) say(`${missing} files were deleted while the backup ran; they are left out`);
}

async function note(pool: Pool, restoreID: string, what: string): Promise<void> {
  await pool.query('update deployment_restore set done = done || $2::text where id = $1', [restoreID, what]);
}

/** A sentence about the secrets that no key here opens; undefined if there are none. */
export async function describeLostSecrets({ config, pool }: Deployment): Promise<string | undefined> {
  return describeUnreadable(await countUnreadable(pool, await openKeyRing(config.secrets.keys, pool)));
}
