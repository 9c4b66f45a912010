import { AppError } from '../../core/errors.ts';
import type { Pool } from '../../db/pool.ts';
import type { Query } from '../../db/query.ts';
import { ownRead } from '../../db/unavailable-store.ts';
import { createFolderStore } from './folder-store.ts';
import { createS3Store, type S3Location } from './s3-store.ts';
import type { BlobStore, ByteRange, StoreName } from './store.ts';

export interface FilesConfig {
  /** Absent: files are not stored in a folder. */
  folder: string | undefined;
  s3: S3Location | undefined;
}

export interface StoredFile {
  id: string;
  tenantID: string;
  store: StoreName;
}

/** Bytes of the files of tenants, each in its own store. New files go to S3 if that is set, else to the folder, else to Postgres. */
export interface StoredFiles {
  /**
   * Stores a new file: first its bytes, then what `write` writes, in the transaction whose `query` it gets. If the process dies in
   * between, the bytes are garbage that a worker deletes.
   */
  save(file: Omit<StoredFile, 'store'>, bytes: Buffer, write: Save): Promise<void>;
  /** All bytes, or those of a range inside the file. Undefined if there are none: the file was deleted after its row was read. */
  read(file: StoredFile, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Deletes bytes without a row. Answers how many files there were. */
  collectGarbage(): Promise<number>;
}

/** Opens a transaction, writes the row of the file with its store, and calls `settle` in it. */
type Save = (store: StoreName, settle: (query: Query) => Promise<void>) => Promise<void>;

export function createStoredFiles(pool: Pool, { folder, s3 }: FilesConfig): StoredFiles {
  const stores: BlobStore[] = [
    ...(s3 ? [createS3Store(s3)] : []),
    ...(folder === undefined ? [] : [createFolderStore(folder)]),
  ];
  const [current] = stores;

  function storeOf(name: StoreName): BlobStore {
    const store = stores.find((one) => one.name === name);
    if (store) return store;
    throw new AppError('UNAVAILABLE', `The file is in a store that is not set here (${name})`);
  }

  return {
    async save(file, bytes, write) {
      if (!current) return await write('postgres', (query) => writeChunks(query, file.id, bytes));
      const { name } = current;
      const key = keyOf(file);
      await pool.query(ANNOUNCE, [name, key]);
      await current.put(key, bytes).catch((cause: unknown) => {
        throw new AppError('UNAVAILABLE', 'The file could not be stored; try again later', { cause, retryAfter: 5 });
      });
      await write(name, async (query) => {
        const { rowCount } = await query('delete from file_garbage where store = $1 and key = $2', [name, key]);
        if (rowCount !== 1) throw new AppError('UNAVAILABLE', 'The upload took too long; try again');
      });
    },

    async read(file, range) {
      if (file.store === 'postgres') return readChunks(pool, file.id, range);
      return await storeOf(file.store).read(keyOf(file), range);
    },

    async collectGarbage() {
      const client = await pool.connect();
      try {
        await client.query('begin');
        const names = stores.map(({ name }) => name);
        const { rows } = await client.query<{ store: StoreName; key: string }>(DUE, [names]);
        // The rows are locked: an upload that still wants its bytes waits, and then fails.
        await Promise.all(rows.map(({ store, key }) => storeOf(store).delete(key)));
        await client.query('commit');
        return rows.length;
      } catch (error) {
        await client.query('rollback');
        throw error;
      } finally {
        client.release();
      }
    },
  };
}

function keyOf({ tenantID, id }: Pick<StoredFile, 'tenantID' | 'id'>): string {
  return `${tenantID}/${id}`;
}

const CHUNK_BYTES = 1024 * 1024;

async function writeChunks(query: Query, fileID: string, bytes: Buffer): Promise<void> {
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
    const part = bytes.subarray(from, from + CHUNK_BYTES).toString('base64');
    await query(`insert into tenant_file_chunk (file_id, position, bytes) values ($1, $2, decode($3, 'base64'))`, [
      fileID,
      from / CHUNK_BYTES,
      part,
    ]);
  }
}

async function* readChunks(
  pool: Pool,
  fileID: string,
  { start, end }: ByteRange = { start: 0, end: Number.POSITIVE_INFINITY },
): AsyncGenerator<Buffer> {
  for (let position = Math.floor(start / CHUNK_BYTES); position * CHUNK_BYTES <= end; position += 1) {
    const { rows } = await ownRead(() =>
      pool.query<{ bytes: Buffer }>('select bytes from tenant_file_chunk where file_id = $1 and position = $2', [
        fileID,
        position,
      ]),
    );
    const [chunk] = rows;
    if (!chunk) return;
    const from = position * CHUNK_BYTES;
    yield chunk.bytes.subarray(Math.max(start - from, 0), end - from + 1);
  }
}

// The hour is far longer than any upload takes. A worker that died may have announced the same file of an event.
const ANNOUNCE = `
insert into file_garbage (store, key, due_at) values ($1, $2, now() + interval '1 hour')
on conflict (store, key) do update set due_at = excluded.due_at`;

const DUE = `
delete from file_garbage where ctid = any(array(
  select ctid from file_garbage where due_at < now() and store = any($1::text[])
  order by due_at limit 20 for update skip locked))
returning store, key`;
