/** What the API answers at `/console/`: the page with its policy, and the files that it loads. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { routes } from '#api/resources/index.ts';
import { expectIcon } from '#test/support/icon.ts';
import { startIdentityProvider } from '#test/support/identity-provider.ts';
import { type SmallApi, startSmallApi } from '#test/support/small-api.ts';
import { builtConsole } from './built-console.ts';

let folder: string;
let api: SmallApi;
beforeAll(async () => {
  ({ folder } = await builtConsole());
  api = await startSmallApi(routes, { CONSOLE_DIR: folder });
}, 60_000);
afterAll(() => api[Symbol.asyncDispose]());

test.each(['/console/', '/console', '/console/t/some-tenant/runs?status=FAILED'])('%s is the page', async (path) => {
  const { status, body, headers } = await api.send('GET', path);

  expect(status).toBe(200);
  expect(headers.get('content-type')).toContain('text/html');
  expect(headers.get('cache-control')).toBe('no-cache');
  expect(body).toContain('<div id="root">');
});

test('the page has an icon', () => expectIcon(`${api.url}/console/`));

test('each answer has a nonce of its own for styles, and allows nothing inline besides', async () => {
  const answers = await Promise.all([1, 2].map(() => api.send('GET', '/console/')));
  const nonces = answers.map(({ body, headers }) => {
    const policy = headers.get('content-security-policy') ?? '';
    const [, nonce] = /'nonce-([\w-]{20,})'/.exec(policy) ?? [];
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-");
    expect(policy).not.toMatch(/unsafe|upgrade-insecure-requests|\*|https?:/);
    expect(body).toContain(`content="${nonce}"`);
    return nonce;
  });

  expect(new Set(nonces).size).toBe(2);
});

test('its files are compressed and kept for a year, under their current names alone', async () => {
  const { body } = await api.send('GET', '/console/');
  const paths = [...body.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path = '']) => path);

  expect(paths.length).toBeGreaterThan(2);
  for (const path of paths) {
    const { status, headers } = await api.send('GET', path, undefined, { 'accept-encoding': 'br' });
    expect({ path, status }).toEqual({ path, status: 200 });
    expect(headers.get('content-encoding')).toBe('br');
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  }
  const gone = await api.send('GET', '/console/assets/index-00000000.js');
  expect(gone.status).toBe(404);
  expect((await api.send('GET', '/console/scheme.js')).headers.get('cache-control')).toBe('no-cache');
});

test('until it is built, the page says so and tries again', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'gantry-unbuilt-'));
  await using unbuilt = await startSmallApi(routes, { CONSOLE_DIR: join(dir, 'built') });

  const before = await unbuilt.send('GET', '/console/');
  await mkdir(join(dir, 'built'));
  await writeFile(join(dir, 'built/index.html'), '<p>NONCE</p>');
  const after = await unbuilt.send('GET', '/console/');
  await rm(dir, { recursive: true });

  expect(before.status).toBe(503);
  expect(before.body).toContain('node ops/tools/build-console.ts');
  expect(before.headers.get('refresh')).toBe('3');
  expect(after).toMatchObject({ status: 200, body: expect.stringMatching(/^<p>[\w-]{20,}<\/p>$/) });
});

test('the policy lets the page ask the identity provider, whose public configuration is an endpoint', async () => {
  await using provider = await startIdentityProvider({ audience: 'gantry' });
  const tokens = { token_endpoint: 'https://tokens.example.test/token' };
  provider.setDiscovery({ issuer: provider.issuer, jwks_uri: `${provider.issuer}/keys`, ...tokens });
  const settings = { AUTH_ISSUER: provider.issuer, AUTH_AUDIENCE: 'gantry', DEV_ISSUER_KEY_FILE: '' };
  await using other = await startSmallApi(routes, { ...settings, CONSOLE_DIR: folder });

  const { headers } = await other.send('GET', '/console/');
  const { body } = await other.send('GET', '/api/v1/auth/sign-in');

  const allowed = `connect-src 'self' ${provider.issuer} https://tokens.example.test;`;
  expect(headers.get('content-security-policy')).toContain(allowed);
  const { issuer, clientID } = body.signIn;
  expect({ issuer, clientID }).toEqual({ issuer: provider.issuer, clientID: 'gantry' });
  expect((await api.send('GET', '/api/v1/auth/sign-in')).body.signIn).toEqual({
    issuer: null,
    clientID: null,
    hasDevelopmentIssuer: true,
  });
});
