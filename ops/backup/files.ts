import { Readable } from 'node:stream';
import { FIRST_ID } from '#shared/core/ids.ts';
import type { StoredFiles } from '#shared/datasources/files/files.ts';
import type { StoreName } from '#shared/datasources/files/store.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { onClient } from '#shared/db/query.ts';
import type { FilesUnit } from './manifest.ts';
import { readUnit, type Throttle, writeParts } from './parts.ts';
import type { BackupStore } from './store.ts';

/** A unit is what an interrupted backup or restore repeats at most. */
const UNIT_FILES = 500;
const UNIT_BYTES = 64 * 1024 * 1024;

interface FileRow {
  id: string;
  tenantID: string;
  store: StoreName;
  size: number;
}

type Key = Pick<FileRow, 'tenantID' | 'id'>;

/** Writes the files that are in a folder or a bucket, a unit at a time. Those in Postgres are in the truth. */
export async function* dumpFiles(
  { pool, stored, after }: { pool: Pool; stored: StoredFiles; after: FilesUnit | undefined },
  target: { store: BackupStore; throttle: Throttle; firstNumber: number },
): AsyncGenerator<FilesUnit> {
  let last: Key = after ? { tenantID: after.lastTenantID, id: after.lastFileID } : { tenantID: FIRST_ID, id: FIRST_ID };
  for (let number = target.firstNumber; ; number += 1) {
    const files = await nextFiles(pool, last);
    const [from, to] = [files[0], files.at(-1)];
    if (!from || !to) return;
    const name = `files/${String(number).padStart(6, '0')}`;
    const counted = { files: 0 };
    const parts = await writeParts(
      target,
      name,
      Readable.from(packFiles(files, stored, counted), { objectMode: false }),
    );
    last = to;
    yield { name, parts, firstTenantID: from.tenantID, lastTenantID: to.tenantID, lastFileID: to.id, ...counted };
  }
}

async function nextFiles(pool: Pool, after: Key): Promise<FileRow[]> {
  const { rows } = await pool.query<FileRow>(NEXT_FILES, [after.tenantID, after.id, UNIT_FILES]);
  let bytes = 0;
  const end = rows.findIndex(({ size }) => {
    bytes += size;
    return bytes >= UNIT_BYTES;
  });
  return end === -1 ? rows : rows.slice(0, end + 1);
}

/** For each file a line of JSON, then its bytes. A file that was deleted meanwhile is left out. */
async function* packFiles(
  files: readonly FileRow[],
  stored: StoredFiles,
  counted: { files: number },
): AsyncGenerator<Buffer> {
  for (const { id, tenantID, store } of files) {
    const bytes = await stored.read({ id, tenantID, store });
    if (!bytes) continue;
    const chunks: Uint8Array[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    const content = Buffer.concat(chunks);
    yield Buffer.from(`${JSON.stringify({ tenantID, id, bytes: content.length })}\n`);
    if (content.length > 0) yield content;
    counted.files += 1;
  }
}

interface PackedFile extends Key {
  content: Buffer;
}

async function* unpackFiles(source: AsyncIterable<Buffer>): AsyncGenerator<PackedFile> {
  const reader = createReader(source);
  for (let line = await reader.readLine(); line !== undefined; line = await reader.readLine()) {
    const { bytes, ...key }: Key & { bytes: number } = JSON.parse(line);
    yield { ...key, content: await reader.read(bytes) };
  }
}

function createReader(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]();
  let buffered: Buffer = Buffer.alloc(0);

  /** Reads on until there are so many bytes, or the source ends. They are joined once. */
  async function fill(bytes: number): Promise<void> {
    const parts = [buffered];
    for (let size = buffered.length; size < bytes; ) {
      const { value, done } = await chunks.next();
      if (done) break;
      parts.push(value);
      size += value.length;
    }
    if (parts.length > 1) buffered = Buffer.concat(parts);
  }

  function take(bytes: number): Buffer {
    if (buffered.length < bytes) throw new Error('The backup is damaged: a file in it is not complete');
    const taken = buffered.subarray(0, bytes);
    buffered = buffered.subarray(bytes);
    return taken;
  }

  return {
    async read(bytes: number): Promise<Buffer> {
      await fill(bytes);
      return take(bytes);
    },
    /** Without its end; undefined after the last. */
    async readLine(): Promise<string | undefined> {
      for (let end = buffered.indexOf(10); ; end = buffered.indexOf(10)) {
        if (end !== -1) return take(end + 1).toString();
        const before = buffered.length;
        await fill(before + 1);
        if (buffered.length === before) return before === 0 ? undefined : take(before + 1).toString();
      }
    },
  };
}

/**
 * Stores the files of a unit where this deployment stores new ones. Rows between the files of the unit before and the last of this one
 * whose file was deleted while the backup ran are deleted, and none that was uploaded since. May be repeated.
 */
export async function loadFiles(
  { pool, stored }: { pool: Pool; stored: StoredFiles },
  {
    store,
    unit,
    after,
    isLast,
    tenantID,
    snapshotAt,
  }: {
    store: BackupStore;
    unit: FilesUnit;
    after: FilesUnit | undefined;
    isLast: boolean;
    tenantID: string | undefined;
    snapshotAt: string | null;
  },
): Promise<number> {
  const ids: string[] = [];
  for await (const file of unpackFiles(readUnit(store, unit))) {
    if (tenantID !== undefined && file.tenantID !== tenantID) continue;
    ids.push(file.id);
    await stored.save(file, file.content, (storeName, settle) =>
      inTransaction(pool, async (client) => {
        await client.query('delete from tenant_file_chunk where file_id = $1', [file.id]);
        const { rowCount } = await client.query('update tenant_file set store = $3 where id = $1 and tenant_id = $2', [
          file.id,
          file.tenantID,
          storeName,
        ]);
        // It was uploaded after the snapshot: its bytes are garbage that a worker deletes.
        if (rowCount === 0) return;
        await settle(onClient(client));
      }),
    );
  }
  const from = after ? [after.lastTenantID, after.lastFileID] : [FIRST_ID, FIRST_ID];
  const to = isLast ? [null, null] : [unit.lastTenantID, unit.lastFileID];
  const { rowCount } = await pool.query(DELETE_MISSING, [...from, ...to, ids, tenantID ?? null, snapshotAt]);
  return rowCount ?? 0;
}

const NEXT_FILES = `
select id, tenant_id as "tenantID", store, file_size as size from tenant_file
where store <> 'postgres' and (tenant_id, id) > ($1::uuid, $2::uuid) order by tenant_id, id limit $3`;

const DELETE_MISSING = `
delete from tenant_file
where store <> 'postgres' and (tenant_id, id) > ($1::uuid, $2::uuid) and ($3::uuid is null or (tenant_id, id) <= ($3::uuid, $4::uuid))
  and id <> all($5::uuid[]) and ($6::uuid is null or tenant_id = $6)
  and created_at <= $7`;
