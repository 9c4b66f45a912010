import { z } from 'zod';

/** A provider at which tenants may connect accounts, and the deployment's client there. */
export interface OAuthProvider {
  name: string;
  authorizationURL: string;
  tokenURL: string;
  /** Where tokens are revoked (RFC 7009); absent: nowhere. */
  revocationURL?: string | undefined;
  /** Issuer of its ID tokens; absent: no ID token is requested. */
  issuer?: string | undefined;
  clientID: string;
  clientSecret: string;
  clientSecretIn: 'header' | 'body';
  scopes: string[];
  /** Further parameters of the authorization request; they cannot replace those of OAuth. */
  authorizationParams: Record<string, string>;
  /** The only hosts, with their subdomains, that get a token of this provider; absent: the host of any datasource. */
  hosts?: string[] | undefined;
}

type ProviderDefaults = Pick<OAuthProvider, 'authorizationURL' | 'tokenURL'> & Partial<OAuthProvider>;

const googleAPI = 'https://www.googleapis.com/auth';

/** Settings of providers that the deployment need not repeat. */
const defaults: Readonly<Record<string, ProviderDefaults>> = {
  google: {
    authorizationURL: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenURL: 'https://oauth2.googleapis.com/token',
    revocationURL: 'https://oauth2.googleapis.com/revoke',
    issuer: 'https://accounts.google.com',
    scopes: [
      ...['spreadsheets', 'drive.readonly', 'datastore'].map((scope) => `${googleAPI}/${scope}`),
      ...['openid', 'email', 'profile'],
    ],
    // Without a new consent, Google sends no refresh token the second time.
    authorizationParams: { access_type: 'offline', prompt: 'consent' },
    hosts: ['googleapis.com'],
  },
};

const Address = z.url({ protocol: /^https?$/, error: 'must be a URL that begins with https://' });

const Provider = z
  .strictObject({
    authorizationURL: Address,
    tokenURL: Address,
    revocationURL: Address.optional(),
    issuer: Address.optional(),
    clientID: z.string().min(1),
    clientSecret: z.string().min(1),
    clientSecretIn: z.enum(['header', 'body']).default('body'),
    scopes: z.array(z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, 'must be one scope')).default([]),
    authorizationParams: z.record(z.string(), z.string()).default({}),
    hosts: z.array(z.hostname()).min(1).optional(),
  })
  .refine(({ issuer, scopes }) => issuer !== undefined || !scopes.includes('openid'), {
    path: ['issuer'],
    error: 'is needed with the scope openid',
  });

/** Part of a URL path. */
export const ProviderName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,30}$/, 'must be a name of lower-case letters, digits and -');

/** `OAUTH_PROVIDERS`: providers by name, as JSON. Error messages give the path and never the value. */
export const OAuthProviders = z
  .string()
  .default('{}')
  .transform((text, check): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      check.addIssue({
        code: 'custom',
        message: 'must be JSON, such as {"google":{"clientID":"…","clientSecret":"…"}}',
      });
      return z.NEVER;
    }
  })
  .pipe(z.record(ProviderName, z.record(z.string(), z.unknown())))
  .transform((given) =>
    Object.fromEntries(Object.entries(given).map(([name, own]) => [name, { ...defaults[name], ...own }])),
  )
  .pipe(z.record(z.string(), Provider))
  .transform((given): OAuthProvider[] => Object.entries(given).map(([name, provider]) => ({ name, ...provider })));

/** Whether the provider names the account that has signed in. */
export function isOpenID({ scopes }: OAuthProvider): boolean {
  return scopes.includes('openid');
}
