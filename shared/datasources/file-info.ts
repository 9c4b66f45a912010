import { z } from 'zod';

const FOLDER = 'tenant-files/';

/** The `filePath` by which a datasource names a file of its tenant. Not a path on a disk: the files are rows. */
export function filePathOf(fileID: string): string {
  return FOLDER + fileID;
}

/** The id in a `filePath` that `FileInfo` has accepted. */
export function fileIDOf(filePath: string): string {
  return filePath.slice(FOLDER.length).toLowerCase();
}

/** The answer of a file upload, as stored in a datasource. Only `filePath` is read; the other fields are for display. */
export const FileInfo = z
  .object({
    filePath: z
      .string()
      .regex(/^tenant-files\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'must be the filePath of an uploaded file')
      .meta({ title: 'File' }),
    fileUrl: z.string().max(1_000).optional(),
    fileName: z.string().max(255).optional().meta({ title: 'Name' }),
    fileSize: z.int().min(0).optional().meta({ title: 'Size' }),
    fileType: z.string().max(255).optional().meta({ title: 'Type' }),
  })
  .meta({ title: 'File', description: 'Uploaded with POST T/datasources/upload' });
