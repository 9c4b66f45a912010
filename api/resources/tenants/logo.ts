import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { TenantFile } from '#shared/entities/tables/tenant-file.ts';
import { TenantLogo } from '#shared/entities/tables/tenant-logo.ts';
import { publicRoute } from '../../context/routes.ts';
import { sendFile } from '../../http/response/send-file.ts';

const headers = {
  // The image of an address never changes; after a day a cache checks whether it still exists.
  'cache-control': 'public, max-age=86400',
  // Pages of other origins may show it; opened directly, it runs no script.
  'cross-origin-resource-policy': 'cross-origin',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
};

const anyTenant = { filters: { tenant: false } } as const;

export const readLogo = publicRoute({
  name: 'getTenantLogo',
  method: 'get',
  path: '/api/v1/tenant-logos/:logoID',
  summary: "Get a tenant's logo",
  description: 'Returns the image. It needs no credential, so that a page can show it.',
  params: z.object({ logoID: idOf('logo') }),
  produces: 'image/*',
  response: z.object({}),

  async handle({ params: { logoID }, em, request, response, signal }, { files }) {
    const file = await em.findOne(TenantFile, { id: logoID, purpose: 'logo' }, anyTenant);
    if (file) await sendFile(files, file, { response, signal, isInline: true, headers });
    else {
      const { contentType, digest, bytes } = await getEarlierLogo(em, logoID);
      response.set({ ...headers, 'content-type': contentType, etag: `"${digest}"` });
      if (request.fresh) response.status(304).end();
      else response.send(bytes);
    }
    return {};
  },
});

/** A logo that was stored before logos became files. */
async function getEarlierLogo(em: EntityManager, id: string): Promise<TenantLogo> {
  const logo = await em.findOne(TenantLogo, { id }, anyTenant);
  if (!logo) throw new AppError('NOT_FOUND', 'Logo not found');
  return logo;
}
