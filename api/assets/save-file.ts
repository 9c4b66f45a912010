import { createHash } from 'node:crypto';
import { newID } from '#shared/core/ids.ts';
import { requireFileHeadroom } from '#shared/datasources/files/file-quotas.ts';
import type { StoredFiles } from '#shared/datasources/files/files.ts';
import { inEntityTransaction, onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { type FilePurpose, TenantFile } from '#shared/entities/tables/tenant-file.ts';
import { recordChanges } from '../audit/changes.ts';
import type { Identity } from '../auth/identity.ts';

interface NewFile {
  tenantID: string;
  identity: Identity;
  purpose: FilePurpose;
  fileName: string;
  fileType: string;
  bytes: Buffer;
  /** Runs first in the transaction that writes the row. */
  before?: (fileID: string) => Promise<void>;
}

/** Stores an uploaded file of the tenant if its quotas have room. */
export async function saveFile(
  { em, files }: { em: EntityManager; files: StoredFiles },
  { identity, bytes, before, ...fields }: NewFile,
): Promise<Omit<TenantFile, 'store'>> {
  const { tenantID } = fields;
  const row = {
    ...fields,
    id: newID(),
    fileSize: bytes.length,
    digest: createHash('sha256').update(bytes).digest('hex'),
    creatorID: identity.userID,
    createdByApiKeyID: identity.apiKeyID ?? null,
    createdAt: new Date(),
  };
  const requireHeadroom = () => requireFileHeadroom(onEntities(em), tenantID, bytes);
  // Quotas are checked before the bytes are sent to the store, and again in the transaction that writes the row. With `before`,
  // they are checked there only: what it deletes may make the room.
  if (!before) await inEntityTransaction(em, requireHeadroom);
  await files.save(row, bytes, (store, settle) =>
    inEntityTransaction(em, async () => {
      await before?.(row.id);
      await requireHeadroom();
      await em.insert(TenantFile, { ...row, store });
      const { fileName, fileType, fileSize, purpose } = row;
      const changes = {
        fileName: { to: fileName },
        fileType: { to: fileType },
        fileSize: { to: fileSize },
        purpose: { to: purpose },
      };
      const created = { assetType: 'file', assetID: row.id, action: 'create' as const, changes };
      await recordChanges(onEntities(em), tenantID, [created]);
      await settle(onEntities(em));
    }),
  );
  return row;
}
