import { z } from 'zod';
import { ID } from '../../http/id.ts';
import { pageFields, pageQuery, standardPage } from '../../http/paging.ts';
import { exampleFile } from './examples.ts';

export const FileID = z.object({ tenantID: ID, fileID: ID });

export const FileList = z.object(pageQuery(standardPage));

/** With the words `fileInfo` of a datasource has: an answer of the upload can be put there as it is. */
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
