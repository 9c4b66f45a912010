import { z } from 'zod';
import { TenantFile } from '#shared/db/entities/tenant-file.ts';
import { Message } from '../../http/answer-parts.ts';
import { findPage } from '../../http/paging.ts';
import { tenantRoute } from '../../http/route.ts';
import { downloadFile, noFile } from './download.ts';
import { presentFile } from './present.ts';
import { FileID, FileList, Files } from './schemas.ts';
import { uploadFile } from './upload.ts';

export const datasourceFileRoutes = [
  uploadFile,

  tenantRoute({
    name: 'listDatasourceFiles',
    method: 'get',
    path: '/datasources/files',
    summary: 'List uploaded files',
    description: 'Returns the files that were uploaded for datasources, newest first.',
    permission: 'datasource.list',
    query: FileList,
    response: Files,

    async handle({ query, em }) {
      const { rows, fields } = await findPage(em, TenantFile, { where: {}, query });
      return { files: rows.map(presentFile), ...fields };
    },
  }),

  downloadFile,

  tenantRoute({
    name: 'deleteDatasourceFile',
    method: 'delete',
    path: '/datasources/files/:fileID',
    summary: 'Delete an uploaded file',
    description: 'Deletes a file. Datasources that still name it fail from the next query on.',
    permission: 'datasource.delete',
    onWholeType: true,
    params: FileID,
    response: z.object({ message: Message }),

    async handle({ params, em }) {
      const deleted = await em.nativeDelete(TenantFile, { id: params.fileID });
      if (deleted === 0) throw noFile();
      return { message: 'File deleted' };
    },
  }),
];
