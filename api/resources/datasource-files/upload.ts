import { createHash } from 'node:crypto';
import { TenantFile } from '#shared/db/entities/tenant-file.ts';
import { TenantFileChunk } from '#shared/db/entities/tenant-file-chunk.ts';
import { inEntityTransaction, onEntities } from '#shared/db/query.ts';
import { AppError } from '#shared/errors.ts';
import { newID } from '#shared/ids.ts';
import { requireQuota } from '#shared/quotas.ts';
import { tenantRoute } from '../../http/route.ts';
import { UPLOAD } from '../../http/upload.ts';
import { fileTypeOf } from './file-type.ts';
import { presentFile } from './present.ts';
import { File } from './schemas.ts';

export const uploadFile = tenantRoute({
  name: 'uploadDatasourceFile',
  method: 'post',
  path: '/datasources/upload',
  summary: 'Upload a file for a datasource',
  description:
    'Stores a CSV, TSV, JSON, Excel (.xlsx), Parquet or SQLite file of at most 10 MB. The answer can be used as `fileInfo` of a datasource.',
  permission: 'datasource.create',
  upload: UPLOAD,
  response: File,
  status: 201,
  // Not idempotent by key: requests are compared by their body, and the file is read after that.
  idempotent: false,

  async handle({ tenantID, identity, em, file }) {
    const { bytes, fileName } = await file();
    const fileType = fileTypeOf(bytes, fileName);
    if (!fileType)
      throw new AppError('VALIDATION_ERROR', 'file: must be CSV, TSV, JSON, Excel (.xlsx), Parquet or SQLite');
    const stored = {
      id: newID(),
      tenantID,
      fileName,
      fileType,
      fileSize: bytes.length,
      digest: createHash('sha256').update(bytes).digest('hex'),
      creatorID: identity.userID,
      createdByApiKeyID: identity.apiKeyID ?? null,
      createdAt: new Date(),
    };
    await inEntityTransaction(em, async () => {
      const query = onEntities(em);
      await requireQuota(query, { quota: 'files', ownerID: tenantID });
      await requireQuota(query, { quota: 'fileBytes', ownerID: tenantID, amount: bytes.length });
      await em.insert(TenantFile, stored);
      for (let from = 0; from < bytes.length; from += CHUNK_BYTES)
        await em.insert(TenantFileChunk, {
          fileID: stored.id,
          position: from / CHUNK_BYTES,
          bytes: bytes.subarray(from, from + CHUNK_BYTES),
        });
    });
    return presentFile(stored);
  },
});

const CHUNK_BYTES = 1024 * 1024;
