import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createProviderOrigins } from '#api/http/console/provider-origins.ts';
import { type IdentityProvider, startIdentityProvider } from '#test/support/identity-provider.ts';

let provider: IdentityProvider;
let issuer: string;
beforeAll(async () => {
  provider = await startIdentityProvider({ audience: 'gantry' });
  ({ issuer } = provider);
});
beforeEach(() => provider.setAway(false));
afterAll(() => provider[Symbol.asyncDispose]());

const say = (fields: object) => provider.setDiscovery({ issuer, jwks_uri: `${issuer}/keys`, ...fields });
const origins = () => createProviderOrigins(issuer)();

test('the token endpoint of another origin is one of them, as an origin alone', async () => {
  say({ token_endpoint: 'https://tokens.example.test/token; script-src *' });
  expect(await origins()).toEqual([issuer, 'https://tokens.example.test']);
  say({ token_endpoint: `${issuer}/token` });
  expect(await origins()).toEqual([issuer]);
});

test.each(['data:text/plain,*', 'no address', 7, undefined])('%s adds none', async (endpoint) => {
  say({ token_endpoint: endpoint });

  expect(await origins()).toEqual([issuer]);
});

test('the document of another issuer adds none', async () => {
  say({ issuer: 'https://other.example.test', token_endpoint: 'https://tokens.example.test/token' });

  expect(await origins()).toEqual([issuer]);
});

test('while the provider is away, its own is known, and pages do not ask it one by one', async () => {
  provider.setAway(true);
  const find = createProviderOrigins(issuer);
  expect(await Promise.all([find(), find()])).toEqual([[issuer], [issuer]]);
  provider.setAway(false);
  say({ token_endpoint: 'https://tokens.example.test/token' });

  expect(await find()).toEqual([issuer]);
});

test('without a provider there are none', async () => {
  expect(await createProviderOrigins(undefined)()).toEqual([]);
});
