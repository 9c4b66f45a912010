import { z } from 'zod';
import { TenantLogo } from '#shared/db/entities/tenant-logo.ts';
import { AppError } from '#shared/errors.ts';
import { ID } from '../../http/id.ts';
import { publicRoute } from '../../http/route.ts';

export const readLogo = publicRoute({
  name: 'getTenantLogo',
  method: 'get',
  path: '/api/v1/tenant-logos/:logoID',
  summary: "Get a tenant's logo",
  description: 'Returns the image. It needs no credential, so that a page can show it.',
  params: z.object({ logoID: ID }),
  produces: 'image/*',
  response: z.object({}),

  async handle({ params: { logoID }, em, request, response }) {
    const anyTenant = { filters: { tenant: false } } as const;
    const logo = await em.findOne(TenantLogo, { id: logoID }, { ...anyTenant, exclude: ['bytes'] });
    if (!logo) throw noLogo();
    response.set({
      'content-type': logo.contentType,
      etag: `"${logo.digest}"`,
      // The image of an address never changes; after a day a cache checks whether it still exists.
      'cache-control': 'public, max-age=86400',
      // Pages of other origins may show it; opened directly, it runs no script.
      'cross-origin-resource-policy': 'cross-origin',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
    });
    if (request.fresh) {
      response.status(304).end();
      return {};
    }
    const whole = await em.findOne(TenantLogo, { id: logoID }, { ...anyTenant, fields: ['bytes'], refresh: true });
    // The logo was replaced after the row was read.
    if (!whole) throw noLogo();
    response.send(whole.bytes);
    return {};
  },
});

function noLogo(): AppError {
  return new AppError('NOT_FOUND', 'Logo not found');
}
