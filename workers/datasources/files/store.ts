import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '#shared/core/errors.ts';
import type { StoredFiles } from '#shared/datasources/files/files.ts';
import type { StoreName } from '#shared/datasources/files/store.ts';
import type { Pool } from '#shared/db/pool.ts';
import { ownRead } from '#shared/db/unavailable-store.ts';
import { makeFolder, removeFolder } from './folder.ts';

/** A file on the disk of this worker, which stays there until it is disposed of. */
export interface PinnedFile extends Disposable {
  readonly path: string;
  readonly fileType: string;
}

/** Cached copies of tenants' files in a folder of this worker; `StoredFiles` has the originals. */
export interface FileStore extends AsyncDisposable {
  readonly folder: string;
  /** NOT_FOUND if the file does not exist or is another tenant's. */
  pin(tenantID: string, fileID: string): Promise<PinnedFile>;
}

interface Copy {
  path: string;
  size: number;
  written: Promise<void>;
  pins: number;
}

const MAX_COPIES_BYTES = 512 * 1024 * 1024;

interface Needs {
  pool: Pool;
  files: StoredFiles;
}

export async function createFileStore(
  { pool, files }: Needs,
  { maxBytes } = { maxBytes: MAX_COPIES_BYTES },
): Promise<FileStore> {
  const folder = await makeFolder();
  /** Copies by tenant and digest, the last used at the end. */
  const copies = new Map<string, Copy>();

  function evictUnused(): void {
    let total = copies.values().reduce((sum, { size }) => sum + size, 0);
    for (const [key, copy] of copies) {
      if (total <= maxBytes) return;
      if (copy.pins > 0) continue;
      copies.delete(key);
      total -= copy.size;
      void rm(copy.path, { force: true });
    }
  }

  function copyOf(tenantID: string, row: FileRow): Copy {
    const { digest, size } = row;
    const key = `${tenantID}-${digest}`;
    const known = copies.get(key);
    copies.delete(key);
    const path = join(folder, key);
    const copy = known ?? { path, size, pins: 0, written: write(files, { ...row, tenantID }, path) };
    copies.set(key, copy);
    if (!known)
      copy.written.catch(() => {
        if (copies.get(key) === copy) copies.delete(key);
      });
    return copy;
  }

  return {
    folder,
    async pin(tenantID, fileID) {
      // The row is read each time, so that a deleted file is not found any more, even if its copy is still on this disk.
      const row = await findRow(pool, tenantID, fileID);
      const copy = copyOf(tenantID, row);
      copy.pins += 1;
      evictUnused();
      try {
        await copy.written;
      } catch (error) {
        copy.pins -= 1;
        throw error;
      }
      let isPinned = true;
      return {
        path: copy.path,
        fileType: row.fileType,
        [Symbol.dispose]() {
          if (isPinned) copy.pins -= 1;
          isPinned = false;
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(copies.values().map(({ written }) => written));
      await removeFolder(folder);
    },
  };
}

interface FileRow {
  id: string;
  store: StoreName;
  digest: string;
  size: number;
  fileType: string;
}

async function findRow(pool: Pool, tenantID: string, fileID: string): Promise<FileRow> {
  const { rows } = await ownRead(() =>
    pool.query<FileRow>(
      `select id, store, digest, file_size as size, file_type as "fileType"
       from tenant_file where id = $1 and tenant_id = $2 and purpose = 'datasource'`,
      [fileID, tenantID],
    ),
  );
  const [row] = rows;
  if (!row) throw noFile();
  return row;
}

/** Writes the copy, under another name until it is complete. */
async function write(files: StoredFiles, file: FileRow & { tenantID: string }, path: string): Promise<void> {
  const partialPath = `${path}.part`;
  const hash = createHash('sha256');
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for await (const bytes of (await files.read(file)) ?? []) {
      hash.update(bytes);
      yield bytes;
    }
  }
  await pipeline(Readable.from(chunks()), createWriteStream(partialPath, { mode: 0o600 }));
  if (hash.digest('hex') === file.digest) return rename(partialPath, path);
  await rm(partialPath, { force: true });
  // The file was deleted while it was read.
  throw noFile();
}

function noFile(): AppError {
  return new AppError('NOT_FOUND', 'The file of the datasource was not found: it may have been deleted');
}
