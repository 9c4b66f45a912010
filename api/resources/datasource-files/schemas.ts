import { z } from 'zod';
import { ID } from '../../http/id.ts';
import { pageFields, pageQuery, standardPage } from '../../http/paging.ts';

export const FileID = z.object({ tenantID: ID, fileID: ID });

export const FileList = z.object(pageQuery(standardPage));

/** With the words `fileInfo` of a datasource has: an answer of the upload can be put there as it is. */
export const File = z.object({
  fileID: z.uuid(),
  /** Where it can be read, relative to the API. */
  url: z.string(),
  /** What a datasource names it by. */
  filePath: z.string(),
  fileName: z.string(),
  fileSize: z.int(),
  fileType: z.string(),
  createdAt: z.iso.datetime(),
});

export const Files = z.object({ files: z.array(File), ...pageFields });
