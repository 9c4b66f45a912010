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
      .meta({ title: 'Path of the file', description: 'As the upload has answered it, such as tenant-files/3f0c…' }),
    fileUrl: z.string().max(1_000).optional().meta({ title: 'URL of the file', description: 'Kept for display only' }),
    fileName: z
      .string()
      .max(255)
      .optional()
      .meta({ title: 'Name of the file', description: 'As it was uploaded, kept for display only' }),
    fileSize: z.int().min(0).optional().meta({ title: 'Size (bytes)', description: 'Kept for display only' }),
    fileType: z
      .string()
      .max(255)
      .optional()
      .meta({ title: 'Type of the file', description: 'Its media type, such as text/csv, kept for display only' }),
  })
  .meta({ title: 'File', description: 'A file that was uploaded with `POST T/datasources/upload`' });
