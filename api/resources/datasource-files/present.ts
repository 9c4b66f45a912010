import type { z } from 'zod';
import { filePathOf } from '#shared/datasources/fields/file-info.ts';
import type { TenantFile } from '#shared/entities/tables/tenant-file.ts';
import type { File } from './schemas.ts';

export function presentFile(file: Omit<TenantFile, 'store'>): z.input<typeof File> {
  const { id, tenantID, fileName, fileSize, fileType, createdAt } = file;
  return {
    fileID: id,
    url: `/api/v1/tenants/${tenantID}/datasources/files/${id}`,
    filePath: filePathOf(id),
    fileName,
    fileSize,
    fileType,
    createdAt: createdAt.toISOString(),
  };
}
