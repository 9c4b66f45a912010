import { newID } from '#shared/core/ids.ts';
import { createStoredFiles } from '#shared/datasources/files/files.ts';
import { dumpDatabase, findDatabases, requireProgramsFor } from './databases.ts';
import { dumpTruth } from './dump-truth.ts';
import { dumpFiles } from './files.ts';
import { withLock } from './lock.ts';
import { type Backup, readProgress, writeProgress } from './manifest.ts';
import type { Deployment } from './open-deployment.ts';
import { createThrottle } from './parts.ts';
import type { BackupStore } from './store.ts';

export interface BackupOptions {
  store: BackupStore;
  version: string;
  bytesPerSecond?: number | undefined;
  isWithoutDatabases?: boolean;
  say(line: string): void;
}

/**
 * Writes a backup, or goes on with one that was interrupted. First the truth, then what it names: files and databases of tenants are
 * never older than the rows that speak of them. Nothing is stopped.
 */
export async function createBackup(deployment: Deployment, options: BackupOptions): Promise<Backup> {
  return await withLock(deployment.pool, 'backup', () => write(deployment, options));
}

async function write(deployment: Deployment, options: BackupOptions): Promise<Backup> {
  const { config, pool, servers } = deployment;
  const { store, say, isWithoutDatabases = false } = options;
  const throttle = createThrottle(options.bytesPerSecond);
  const programs = config.tenantDatabases.programs ?? '';
  const interrupted = await readProgress(store);
  if (interrupted) say(`Going on with the backup of ${interrupted.snapshotAt}`);
  const databases = isWithoutDatabases ? [] : await findDatabases(pool);
  await requireProgramsFor(databases, { servers, programs });

  let backup: Backup = interrupted ?? begin(options);
  // The truth is one unit: a second snapshot would be of another moment.
  if (backup.snapshotAt === null) {
    say('The truth database:');
    backup = { ...backup, ...(await dumpTruth(config.db.url, { store, throttle, say })) };
    await writeProgress(store, backup);
  }
  if (!backup.hasAllFiles) {
    const stored = createStoredFiles(pool, config.files);
    const target = { store, throttle, firstNumber: backup.files.length + 1 };
    for await (const unit of dumpFiles({ pool, stored, after: backup.files.at(-1) }, target)) {
      backup = { ...backup, files: [...backup.files, unit] };
      await writeProgress(store, backup);
    }
    backup = { ...backup, hasAllFiles: true };
    say(`Files of tenants: ${backup.files.reduce((sum, { files }) => sum + files, 0)}`);
  }
  const has = new Set(backup.databases.map(({ tenantID }) => tenantID));
  const failedDatabases: Backup['failedDatabases'] = [];
  for (const row of databases.filter(({ tenantID }) => !has.has(tenantID))) {
    const { tenantID } = row;
    try {
      const unit = await dumpDatabase(row, { servers, programs, store, throttle });
      backup = { ...backup, databases: [...backup.databases, unit] };
      await writeProgress(store, backup);
      say(`Database of the tenant ${tenantID}`);
    } catch (error) {
      // One that cannot be dumped must not cost the backup of all others.
      failedDatabases.push({ tenantID, error: (error as Error).message });
    }
  }
  backup = { ...backup, failedDatabases, finishedAt: new Date().toISOString() };
  await writeProgress(store, backup);
  return backup;
}

function begin({ version, isWithoutDatabases = false }: BackupOptions): Backup {
  return {
    format: 1,
    id: newID(),
    version,
    migrations: [],
    keys: [],
    startedAt: new Date().toISOString(),
    snapshotAt: null,
    finishedAt: null,
    sequences: [],
    tables: [],
    databases: [],
    failedDatabases: [],
    isWithoutDatabases,
    files: [],
    hasAllFiles: false,
  };
}
