import { TenantFile } from '#shared/entities/tables/tenant-file.ts';
import { tenantRoute } from '../../context/routes.ts';
import { findPage } from '../../http/fields/paging.ts';
import { deleteFile } from './delete.ts';
import { downloadFile } from './download.ts';
import { presentFile } from './present.ts';
import { FileList, Files } from './schemas.ts';
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
      const { rows, fields } = await findPage(em, TenantFile, { where: { purpose: 'datasource' }, query });
      return { files: rows.map(presentFile), ...fields };
    },
  }),

  downloadFile,

  deleteFile,
];
