import { expect, test } from 'vitest';
import { readConfig } from '#shared/process/config.ts';

const env = { DATABASE_URL: 'postgres://localhost/x', PUBLIC_URL: 'https://api.example.com/gantry/' };
const own = {
  authorizationURL: 'https://acme.example.com/auth',
  tokenURL: 'https://acme.example.com/token',
  clientID: 'c',
  clientSecret: 'a-secret',
};
const read = (providers: unknown, more: Record<string, string> = {}) =>
  readConfig({ ...env, OAUTH_PROVIDERS: JSON.stringify(providers), ...more }).oauth;

test('Google is predefined, and the configuration overrides it', () => {
  const { providers, publicURL } = read({
    google: { clientID: 'c', clientSecret: 's', scopes: ['openid'] },
    acme: own,
  });

  expect(publicURL).toBe('https://api.example.com/gantry');
  expect(providers).toMatchObject([
    {
      name: 'google',
      tokenURL: 'https://oauth2.googleapis.com/token',
      issuer: 'https://accounts.google.com',
      scopes: ['openid'],
      hosts: ['googleapis.com'],
      authorizationParams: { access_type: 'offline', prompt: 'consent' },
    },
    { ...own, name: 'acme', scopes: [], clientSecretIn: 'body' },
  ]);
  expect(readConfig(env).oauth.providers).toEqual([]);
});

test.each<[string, unknown, RegExp]>([
  ['no name', { 'A b': own }, /OAUTH_PROVIDERS\.A b/],
  ['nothing', { acme: {} }, /OAUTH_PROVIDERS\.acme\.clientID/],
  ['no address', { acme: { ...own, tokenURL: 'ftp://a-secret' } }, /OAUTH_PROVIDERS\.acme\.tokenURL: must be a URL/],
  ['a word too many', { acme: { ...own, scope: 'a' } }, /OAUTH_PROVIDERS\.acme: .*"scope"/],
  ['two scopes in one', { acme: { ...own, scopes: ['a b'] } }, /scopes\.0: must be one scope/],
  ['OpenID without an issuer', { acme: { ...own, scopes: ['openid'] } }, /acme\.issuer: is needed/],
  ['a list', [own], /OAUTH_PROVIDERS/],
])('%s is refused with its path, and without its value', (_what, providers, message) => {
  expect(() => read(providers)).toThrow(message);
  expect(() => read(providers)).not.toThrow(/a-secret/);
});

test('invalid JSON, a missing public address and plain http in production are refused', () => {
  expect(() => readConfig({ ...env, OAUTH_PROVIDERS: '{"a-secret' })).toThrow(/OAUTH_PROVIDERS: must be JSON/);
  expect(() => readConfig({ ...env, OAUTH_PROVIDERS: '{"a-secret' })).not.toThrow(/a-secret/);
  expect(() => read({ acme: own }, { PUBLIC_URL: '' })).toThrow('PUBLIC_URL is required with OAUTH_PROVIDERS');
  const production = {
    NODE_ENV: 'production',
    AUTH_ISSUER: 'https://id.example.com',
    AUTH_AUDIENCE: 'a',
    SECRETS_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
  };
  expect(read({ acme: own }, production).providers).toHaveLength(1);
  expect(() => read({ acme: { ...own, tokenURL: 'http://acme.example.com' } }, production)).toThrow(/acme must begin/);
  expect(() => read({ acme: own }, { ...production, PUBLIC_URL: 'http://api.example.com' })).toThrow(/PUBLIC_URL/);
});
