import { AppError } from '#shared/core/errors.ts';
import { fileTypeOf } from '#shared/datasources/files/file-type.ts';
import { saveFile } from '../../assets/save-file.ts';
import { tenantRoute } from '../../context/routes.ts';
import { UPLOAD } from '../../http/request/upload.ts';
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

  async handle({ tenantID, identity, em, file }, { files }) {
    const { bytes, fileName } = await file();
    const fileType = fileTypeOf(bytes, fileName);
    if (!fileType)
      throw new AppError('VALIDATION_ERROR', 'file: must be CSV, TSV, JSON, Excel (.xlsx), Parquet or SQLite');
    const purpose = 'datasource';
    return presentFile(await saveFile({ em, files }, { tenantID, identity, purpose, fileName, fileType, bytes }));
  },
});
