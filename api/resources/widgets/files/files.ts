import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { saveFile } from '../../../assets/save-file.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { Message } from '../../../http/fields/response-parts.ts';
import { UPLOAD } from '../../../http/request/upload.ts';
import { FilePath, sendWidgetFile } from '../../../pages/widget-file.ts';
import { exampleFile } from '../examples.ts';
import { fileAddressOf, widgetFileFields } from './address.ts';
import { widgetFileTypeOf } from './type.ts';

const WidgetFile = z
  .object({
    ...widgetFileFields,
    message: Message,
  })
  .meta({ id: 'WidgetFile', examples: [exampleFile] });

export const uploadWidgetFile = tenantRoute({
  name: 'uploadWidgetFile',
  method: 'post',
  path: '/widgets/upload',
  summary: 'Upload a file for widgets',
  description:
    'Stores an image (PNG, JPEG, GIF, WebP), video, sound, PDF, archive or text of at most 10 MB. HTML and SVG are not accepted.',
  permission: 'widget.create',
  upload: UPLOAD,
  response: WidgetFile,
  status: 201,
  // Not idempotent by key: requests are compared by their body, and the file is read after that.
  idempotent: false,

  async handle({ tenantID, identity, em, file }, { files }) {
    const { bytes, fileName } = await file();
    const fileType = await widgetFileTypeOf(bytes);
    if (!fileType)
      throw new AppError(
        'VALIDATION_ERROR',
        'file: must be an image (PNG, JPEG, GIF, WebP), a video (MP4, WebM), a sound (MP3, Ogg), PDF, ZIP or plain text',
      );
    const { id } = await saveFile({ em, files }, { tenantID, identity, purpose: 'widget', fileName, fileType, bytes });
    const { url, filePath } = fileAddressOf(tenantID, id);
    return { fileID: id, url, filePath, fileName, fileSize: bytes.length, fileType, message: 'File uploaded' };
  },
});

export const readWidgetFile = tenantRoute({
  name: 'getWidgetFile',
  method: 'get',
  path: '/widgets/files',
  summary: 'Get a file that was uploaded for widgets',
  description:
    'Returns the bytes of a file. Images, videos and sounds are sent with their type, others to be saved. `Range` is honoured, for videos and sounds. For callers who may execute a widget.',
  permission: 'widget.execute',
  filter: true,
  query: z.object({ path: FilePath.describe('The `filePath` of the upload') }),
  produces: 'application/octet-stream',
  response: z.object({}),
  errors: ['404'],

  async handle({ query: { path }, em, tenantID, response, signal }, { files }) {
    await sendWidgetFile(files, { em, tenantID, path, response, signal });
    return {};
  },
});
