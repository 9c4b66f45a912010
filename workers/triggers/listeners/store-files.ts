import { hash } from 'node:crypto';
import { readMediaType } from '#shared/core/media-type.ts';
import { requireFileHeadroom } from '#shared/datasources/files/file-quotas.ts';
import { fileTypeOf } from '#shared/datasources/files/file-type.ts';
import type { StoredFiles } from '#shared/datasources/files/files.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { onClient } from '#shared/db/query.ts';
import type { RecordedEvent } from '#shared/triggers/listeners/event.ts';
import type { ReadListener } from '#shared/triggers/listeners/listener-reader.ts';
import { type DeliveredFile, largeFilesOf, MULTIPART } from '#shared/triggers/listeners/multipart.ts';

/** Stores the large files of an event, which has references to them. A further attempt at the event finds them stored. */
export type StoreFiles = (event: RecordedEvent, listener: ReadListener) => Promise<void>;

export function createStoreFiles(pool: Pool, files: StoredFiles): StoreFiles {
  async function store(file: DeliveredFile, { tenantID, creatorID, createdByApiKeyID = null }: ReadListener) {
    const { rowCount } = await pool.query('select from tenant_file where id = $1', [file.id]);
    if (rowCount === 1) return;
    const { id, bytes, fileName } = file;
    // The quota holds before the bytes are sent to the store, and again in the transaction that writes the row, as for an upload.
    await inTransaction(pool, (client) => requireFileHeadroom(onClient(client), tenantID, bytes));
    await files.save({ id, tenantID }, bytes, (name, settle) =>
      inTransaction(pool, async (client) => {
        const query = onClient(client);
        await requireFileHeadroom(query, tenantID, bytes);
        const type = fileTypeOf(bytes, fileName) ?? 'application/octet-stream';
        const values = [id, tenantID, fileName, type, bytes.length, hash('sha256', bytes), name];
        await query(INSERT, [...values, creatorID, createdByApiKeyID]);
        await settle(query);
      }),
    );
  }

  return async ({ id, headers, body }, listener) => {
    const contentType = headers?.find(([name]) => name === 'content-type')?.[1];
    const { type, parameters } = readMediaType(contentType);
    if (type !== MULTIPART || !body) return;
    for (const file of largeFilesOf(body, parameters.get('boundary'), { id })) await store(file, listener);
  };
}

const INSERT = `
insert into tenant_file (id, tenant_id, file_name, file_type, file_size, digest, store, creator_id, created_by_api_key_id, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now())`;
