import { z } from 'zod';
import { defineAsk } from './define-ask.ts';

/** The tokens for the code that somebody brought back from a provider. They come sealed for the row of the connection. */
export const oauthExchange = defineAsk({
  name: 'oauth.exchange',
  question: z.object({
    oauthConnectionID: z.uuid(),
    provider: z.string(),
    code: z.string(),
    /** Who says to have answered, where it does. */
    issuer: z.string().optional(),
    redirectURI: z.string(),
    codeVerifier: z.string(),
    nonce: z.string(),
  }),
  answer: z.object({
    tokens: z.string(),
    expiresAt: z.iso.datetime().nullable(),
    refreshAt: z.iso.datetime().nullable(),
    scopes: z.array(z.string()),
    accountSubject: z.string().nullable(),
    accountEmail: z.string().nullable(),
  }),
  timeoutMs: 25_000,
  perLane: { user: 4, tenant: 8 },
});
