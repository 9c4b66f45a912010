import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { ProviderName } from '#shared/process/oauth-providers.ts';

export const Provider = z.object({ provider: ProviderName });
export const TenantAtProvider = z.object({ provider: ProviderName, tenantID: idOf('tenant') });

export const StartQuery = z.object({
  oauthConnectionID: idOf('oauthConnection').optional().meta({
    description: 'The connection that gets new tokens, in the place of a new one',
  }),
});

export const AuthorizationURL = z.object({
  url: z.url().meta({
    examples: ['https://accounts.google.com/o/oauth2/v2/auth?response_type=code&client_id=gantry&state=c2VhbGVk'],
  }),
});

/** Query parameters with which a provider sends the browser back; others are ignored. */
export const CallbackQuery = z.object({
  state: z.string().max(4_000).optional(),
  code: z.string().max(8_000).optional(),
  error: z.string().max(1_000).optional(),
  iss: z.string().max(2_000).optional(),
});
