import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackup } from '#ops/backup/create.ts';
import type { Backup } from '#ops/backup/manifest.ts';
import { type Deployment as Opened, openDeployment } from '#ops/backup/open-deployment.ts';
import { type BackupStore, openBackupStore } from '#ops/backup/store.ts';
import { newID } from '#shared/core/ids.ts';
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

export async function backUp({ env }: Pick<Deployment, 'env'>, store: BackupStore): Promise<Backup> {
  await using opened = await openDeployment(env);
  return await createBackup(opened, { store, version: '1.2.3', ...silent });
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
