import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackup } from '#ops/backup/create.ts';
import type { Backup } from '#ops/backup/manifest.ts';
import { type Deployment as Opened, openDeployment } from '#ops/backup/open-deployment.ts';
import { type BackupStore, openBackupStore } from '#ops/backup/store.ts';
import { newID } from '#shared/core/ids.ts';
import { createStoredFiles } from '#shared/datasources/files/files.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { onClient } from '#shared/db/query.ts';
import type { Config } from '#shared/process/config.ts';
import { freshDatabase } from './database.ts';
import type { Deployment } from './deployment.ts';

/** Swallows the lines that commands print. */
export const silent = { say: () => undefined };

export async function aFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), `gantry-test-${process.pid}-`));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export function folderStore(path: string): BackupStore {
  return openBackupStore(path, { s3: undefined });
}

export async function backUp(
  { env }: Pick<Deployment, 'env'>,
  store: BackupStore,
  options: { isWithoutDatabases?: boolean } = {},
): Promise<Backup> {
  await using opened = await openDeployment(env);
  return await createBackup(opened, { store, version: '1.2.3', ...silent, ...options });
}

export interface Target extends Opened {
  env: Record<string, string>;
}

/** An empty database with the settings of another deployment: where its backup is restored. */
export async function anEmptyTarget(
  { env: other }: Pick<Deployment, 'env'>,
  settings: Record<string, string> = {},
): Promise<Target> {
  await using resources = new AsyncDisposableStack();
  const database = resources.use(await freshDatabase());
  const prefix = `t${newID().replaceAll('-', '').slice(-20)}`;
  const env = { ...other, DATABASE_URL: database.url, BACKPLANE_PREFIX: prefix, ...settings };
  const opened = resources.use(await openDeployment(env));
  const owned = resources.move();
  return { ...opened, env, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Uploads a file for a tenant. */
export async function saveFile(
  pool: Pool,
  config: Config,
  { id, tenantID, content }: { id: string; tenantID: string; content: string },
): Promise<void> {
  const bytes = Buffer.from(content);
  await createStoredFiles(pool, config.files).save({ id, tenantID }, bytes, (storeName, settle) =>
    inTransaction(pool, async (client) => {
      await client.query(
        `insert into tenant_file (id, tenant_id, file_name, file_type, file_size, digest, creator_id, store, purpose)
         values ($1, $2, 'a.txt', 'text/plain', $3, repeat('0', 64), $2, $4, 'upload')`,
        [id, tenantID, bytes.length, storeName],
      );
      await settle(onClient(client));
    }),
  );
}

/** A store that fails once, at the n-th read of an object with this name, as if the process ended there. */
export function breakingAtRead(store: BackupStore, name: string, n: number): BackupStore {
  let reads = 0;
  return {
    ...store,
    async get(object) {
      if (object.startsWith(name)) reads += 1;
      if (reads === n && object.startsWith(name)) throw new Error('broken off');
      return await store.get(object);
    },
  };
}
