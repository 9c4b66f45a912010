import { z } from 'zod';
import { defineRPC } from './define-rpc.ts';

/** Exchanges an authorization code for tokens, which are returned sealed for the row of the connection. */
export const oauthExchange = defineRPC({
  name: 'oauth.exchange',
  request: z.object({
    oauthConnectionID: z.uuid(),
    provider: z.string(),
    code: z.string(),
    /** Issuer parameter of the callback, if the provider sent one. */
    issuer: z.string().optional(),
    redirectURI: z.string(),
    codeVerifier: z.string(),
    nonce: z.string(),
  }),
  response: z.object({
    tokens: z.string(),
    expiresAt: z.iso.datetime().nullable(),
    refreshAt: z.iso.datetime().nullable(),
    scopes: z.array(z.string()),
    accountSubject: z.string().nullable(),
    accountEmail: z.string().nullable(),
  }),
  timeoutMs: 25_000,
  hasFewJobs: true,
  maxConcurrent: { user: 4, tenant: 8 },
  isShort: () => true,
});
