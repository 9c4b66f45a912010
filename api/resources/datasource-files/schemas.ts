import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { Flag } from '../../http/fields/flag.ts';
import { pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { exampleFile } from './examples.ts';

export const FileID = z.object({ tenantID: idOf('tenant'), fileID: idOf('file') });

export const FileDelete = z.object({ force: Flag.describe('Deletes the file although datasources use it') });

export const FileList = z.object(pageQuery(standardPage));

/** Has the fields of a datasource's `fileInfo`, so that the answer can be copied there. */
export const File = z
  .object({
    fileID: z.uuid(),
    url: z.string().describe('Where the file can be read, relative to the API'),
    filePath: z.string().describe('The name of the file in the options of a datasource'),
    fileName: z.string(),
    fileSize: z.int(),
    fileType: z.string(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'DatasourceFile', examples: [exampleFile] });

export const Files = z.object({ files: z.array(File), ...pageFields }).meta({ id: 'DatasourceFilePage' });
