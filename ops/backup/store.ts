/** Where a backup is: a folder, or a prefix of an S3 bucket. */
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createS3Store } from '#shared/datasources/files/s3-store.ts';
import type { Config } from '#shared/process/config.ts';
import { codeOf, syncFolder } from '../embedded/files.ts';

/** Objects of at most a few megabytes, by name. An object is there whole or not at all. */
export interface BackupStore {
  /** For people. */
  readonly address: string;
  put(name: string, bytes: Buffer): Promise<void>;
  /** Undefined if there is no such object. */
  get(name: string): Promise<Buffer | undefined>;
}

/** `s3://bucket/prefix`, or the path of a folder. */
export function openBackupStore(target: string, { s3 }: Config['backups']): BackupStore {
  if (!target.startsWith('s3://')) return createFolder(resolve(target));
  const [, bucket, prefix] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/([\w!*'()./-]*[\w])\/?$/.exec(target) ?? [];
  if (!bucket || !prefix) throw new Error(`The target must be a folder or s3://<bucket>/<prefix>, received ${target}`);
  if (!s3)
    throw new Error('BACKUP_ACCESS_KEY_ID and BACKUP_SECRET_ACCESS_KEY are required for a backup in a bucket (s3://…)');
  const objects = createS3Store({ ...s3, bucket });
  return {
    address: `s3://${bucket}/${prefix}`,
    put: (name, bytes) => objects.put(`${prefix}/${name}`, bytes),
    async get(name) {
      const bytes = await objects.read(`${prefix}/${name}`);
      return bytes && (await buffer(bytes));
    },
  };
}

function createFolder(folder: string): BackupStore {
  return {
    address: folder,
    async put(name, bytes) {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      {
        await using file = await open(`${path}.partial`, 'w', 0o600);
        await file.writeFile(bytes);
        await file.sync();
      }
      await rename(`${path}.partial`, path);
      await syncFolder(dirname(path));
    },
    async get(name) {
      return await readFile(join(folder, name)).catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return undefined;
        throw error;
      });
    },
  };
}
