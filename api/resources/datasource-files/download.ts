import { z } from 'zod';
import { TenantFile } from '#shared/entities/tables/tenant-file.ts';
import { tenantRoute } from '../../context/routes.ts';
import { noFile, sendFile } from '../../http/response/send-file.ts';
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

  async handle({ params: { fileID }, em, response, signal }, { files }) {
    const file = await em.findOne(TenantFile, { id: fileID, purpose: 'datasource' });
    if (!file) throw noFile();
    await sendFile(files, file, { response, signal });
    return {};
  },
});
