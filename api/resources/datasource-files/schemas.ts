import { z } from 'zod';
import { ID } from '../../http/id.ts';
import { pageFields, pageQuery, standardPage } from '../../http/paging.ts';

export const FileID = z.object({ tenantID: ID, fileID: ID });

export const FileList = z.object(pageQuery(standardPage));

/** Has the fields of a datasource's `fileInfo`, so that the answer can be copied there. */
export const File = z.object({
  fileID: z.uuid(),
  /** Address of the file, relative to the API. */
  url: z.string(),
  /** The value for a datasource's `filePath`. */
  filePath: z.string(),
  fileName: z.string(),
  fileSize: z.int(),
  fileType: z.string(),
  createdAt: z.iso.datetime(),
});

export const Files = z.object({ files: z.array(File), ...pageFields });
