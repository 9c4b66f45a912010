import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ownRead } from '#shared/db/own-read.ts';
import type { Pool } from '#shared/db/pool.ts';
import { AppError } from '#shared/errors.ts';
import { makeFolder, removeFolder } from './folder.ts';

/** A file on the disk of this worker, which stays there until it is disposed of. */
export interface HeldFile extends Disposable {
  readonly path: string;
  readonly fileType: string;
}

/** Copies of tenants' files in a folder of this worker; the originals are rows in Postgres. */
export interface FileStore extends AsyncDisposable {
  readonly folder: string;
  /** NOT_FOUND if the file does not exist or is another tenant's. */
  hold(tenantID: string, fileID: string): Promise<HeldFile>;
}

interface Copy {
  path: string;
  size: number;
  written: Promise<void>;
  holders: number;
}

const MAX_COPIES_BYTES = 512 * 1024 * 1024;

export async function createFileStore(pool: Pool, { maxBytes } = { maxBytes: MAX_COPIES_BYTES }): Promise<FileStore> {
  const folder = await makeFolder();
  /** By tenant and digest, the last used at the end. */
  const copies = new Map<string, Copy>();

  function makeRoom(): void {
    let total = copies.values().reduce((sum, { size }) => sum + size, 0);
    for (const [key, copy] of copies) {
      if (total <= maxBytes) return;
      if (copy.holders > 0) continue;
      copies.delete(key);
      total -= copy.size;
      void rm(copy.path, { force: true });
    }
  }

  function copyOf(tenantID: string, { id, digest, size }: FileRow): Copy {
    const key = `${tenantID}-${digest}`;
    const kept = copies.get(key);
    copies.delete(key);
    const path = join(folder, key);
    const copy = kept ?? { path, size, holders: 0, written: write(pool, { id, digest, path }) };
    copies.set(key, copy);
    if (!kept)
      copy.written.catch(() => {
        if (copies.get(key) === copy) copies.delete(key);
      });
    return copy;
  }

  return {
    folder,
    async hold(tenantID, fileID) {
      // Read each time, so that a deleted file is gone at once, even if its copy is still here.
      const row = await findRow(pool, tenantID, fileID);
      const copy = copyOf(tenantID, row);
      copy.holders += 1;
      makeRoom();
      try {
        await copy.written;
      } catch (error) {
        copy.holders -= 1;
        throw error;
      }
      let isHeld = true;
      return {
        path: copy.path,
        fileType: row.fileType,
        [Symbol.dispose]() {
          if (isHeld) copy.holders -= 1;
          isHeld = false;
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
  digest: string;
  size: number;
  fileType: string;
}

async function findRow(pool: Pool, tenantID: string, fileID: string): Promise<FileRow> {
  const { rows } = await ownRead(() =>
    pool.query<FileRow>(
      'select id, digest, file_size as size, file_type as "fileType" from tenant_file where id = $1 and tenant_id = $2',
      [fileID, tenantID],
    ),
  );
  const [row] = rows;
  if (!row) throw noFile();
  return row;
}

/** Writes the copy, under another name until it is complete. */
async function write(pool: Pool, { id, digest, path }: { id: string; digest: string; path: string }): Promise<void> {
  const begun = `${path}.part`;
  const hash = createHash('sha256');
  async function* chunks(): AsyncGenerator<Buffer> {
    for await (const bytes of readChunks(pool, id)) {
      hash.update(bytes);
      yield bytes;
    }
  }
  await pipeline(Readable.from(chunks()), createWriteStream(begun, { mode: 0o600 }));
  if (hash.digest('hex') === digest) return rename(begun, path);
  await rm(begun, { force: true });
  // The file was deleted while it was read.
  throw noFile();
}

async function* readChunks(pool: Pool, fileID: string): AsyncGenerator<Buffer> {
  for (let position = 0; ; position += 1) {
    const { rows } = await ownRead(() =>
      pool.query<{ bytes: Buffer }>('select bytes from tenant_file_chunk where file_id = $1 and position = $2', [
        fileID,
        position,
      ]),
    );
    const [chunk] = rows;
    if (!chunk) return;
    yield chunk.bytes;
  }
}

function noFile(): AppError {
  return new AppError('NOT_FOUND', 'The file of the datasource was not found: it may have been deleted');
}
