import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { filePathOf } from '#shared/datasources/fields/file-info.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { TenantFile } from '#shared/entities/tables/tenant-file.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { noFile } from '../../http/response/send-file.ts';
import { findDatasourcesOfFile } from './datasources-of-file.ts';
import { FileDelete, FileID } from './schemas.ts';

/** Datasources that the error names; further ones are only counted. */
const SHOWN = 200;

export const deleteFile = tenantRoute({
  name: 'deleteDatasourceFile',
  method: 'delete',
  path: '/datasources/files/:fileID',
  summary: 'Delete an uploaded file',
  description:
    'Deletes a file. While datasources use it, that is a CONFLICT that names them; with `force` their queries fail from then on.',
  permission: 'datasource.delete',
  onWholeType: true,
  params: FileID,
  query: FileDelete,
  response: z.object({ message: Message }),
  errors: ['409'],

  async handle({ params: { fileID }, query, em, tenantID, visible }, { pool }) {
    const users = query.force ? [] : await findDatasourcesOfFile(pool, tenantID, filePathOf(fileID));
    if (users.length > 0 && (await em.count(TenantFile, { id: fileID })) > 0) {
      const shown = await em.find(
        Datasource,
        { id: { $in: users }, ...(await visible('datasource.read')) },
        { limit: SHOWN, orderBy: { createdAt: 'desc' } },
      );
      const words = users.length === 1 ? '1 datasource uses' : `${users.length} datasources use`;
      throw new AppError('CONFLICT', `${words} this file; force=true deletes it all the same`, {
        details: {
          datasources: shown.map(({ id, datasourceTitle }) => ({ datasourceID: id, datasourceTitle })),
          others: { datasources: users.length - shown.length },
        },
      });
    }
    const file = await em.findOne(TenantFile, { id: fileID, purpose: 'datasource' });
    if (!file) throw noFile();
    await em.remove(file).flush();
    return { message: 'File deleted' };
  },
});
