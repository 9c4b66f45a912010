import { LockMode } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { Tenant } from '#shared/entities/tables/tenant.ts';
import { imageTypeOf } from '../../assets/image-type.ts';
import { saveFile } from '../../assets/save-file.ts';
import { tenantRoute } from '../../context/routes.ts';
import { UPLOAD } from '../../http/request/upload.ts';
import { deleteLogos } from './delete-logos.ts';
import { type ImageSize, imageSizeOf } from './image-size.ts';
import { logoPath } from './logo-path.ts';
import { TenantID } from './schemas.ts';

/** A viewer needs memory for all pixels of an image, however few bytes the file has. */
const maxPixels = 8192;

export const uploadLogo = tenantRoute({
  name: 'uploadTenantLogo',
  method: 'post',
  path: '/upload-logo',
  summary: "Upload a tenant's logo",
  description: 'Replaces the logo by a PNG, JPEG, GIF or WebP image of at most 10 MB.',
  permission: 'tenant.update',
  object: ({ params }) => `tenant:${params.tenantID}`,
  params: TenantID,
  upload: UPLOAD,
  idempotent: false,
  response: z.object({ url: z.string(), filePath: z.string(), fileName: z.string(), tenantLogoURL: z.string() }),

  async handle({ tenantID, identity, em, file }, { files }) {
    const { bytes, fileName } = await file();
    const fileType = imageTypeOf(bytes);
    if (!fileType) throw new AppError('VALIDATION_ERROR', 'file: must be a PNG, JPEG, GIF or WebP image');
    requireSize(imageSizeOf(fileType, bytes));

    const before = async (logoID: string) => {
      // Locks the tenant's row first, as its deletion does, so that two uploads follow one another.
      const lockMode = LockMode.PESSIMISTIC_WRITE;
      const tenant = await em.findOneOrFail(Tenant, { id: tenantID }, { lockMode });
      tenant.tenantLogoURL = logoPath(logoID);
      await em.flush();
      // Done before the quotas are checked: the logo that is replaced makes room.
      await deleteLogos(em, tenantID);
    };
    const given = { tenantID, identity, purpose: 'logo' as const, fileName, fileType, bytes, before };
    const { id } = await saveFile({ em, files }, given);
    const url = logoPath(id);
    return { url, filePath: `tenant-logos/${id}`, fileName, tenantLogoURL: url };
  },
});

function requireSize(size: ImageSize | undefined): void {
  const sides = size ? [size.width, size.height] : [0];
  if (sides.every((side) => side > 0 && side <= maxPixels)) return;
  throw new AppError('VALIDATION_ERROR', `file: must be an image of 1 to ${maxPixels} pixels in width and height`);
}
