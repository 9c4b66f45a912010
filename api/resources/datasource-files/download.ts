import { once } from 'node:events';
import { z } from 'zod';
import { TenantFile } from '#shared/db/entities/tenant-file.ts';
import { TenantFileChunk } from '#shared/db/entities/tenant-file-chunk.ts';
import { AppError } from '#shared/errors.ts';
import { tenantRoute } from '../../http/route.ts';
import { FileID } from './schemas.ts';

export const downloadFile = tenantRoute({
  name: 'downloadDatasourceFile',
  method: 'get',
  path: '/datasources/files/:fileID',
  summary: 'Download an uploaded file',
  description: 'Returns the bytes of a file that was uploaded for a datasource.',
  permission: 'datasource.read',
  onWholeType: true,
  params: FileID,
  produces: 'application/octet-stream',
  response: z.object({}),

  async handle({ params: { fileID }, em, response, signal }) {
    const file = await em.findOne(TenantFile, { id: fileID });
    if (!file) throw noFile();
    const read = (position: number) => em.fork().findOne(TenantFileChunk, { fileID, position });
    let chunk = await read(0);
    if (!chunk) throw noFile();
    response.set({
      // Sent as an attachment: a browser saves it and runs nothing in it.
      'content-type': 'application/octet-stream',
      'content-length': String(file.fileSize),
      'content-disposition': `attachment; filename="file"; filename*=UTF-8''${encoded(file.fileName)}`,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    });
    for (let position = 1; chunk; position += 1) {
      if (!response.write(chunk.bytes)) await once(response, 'drain', { signal });
      chunk = await read(position);
    }
    response.end();
    return {};
  },
});

function encoded(name: string): string {
  const wellFormed = name.toWellFormed();
  return encodeURIComponent(wellFormed).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
}

export function noFile(): AppError {
  return new AppError('NOT_FOUND', 'File not found');
}
