/** Responses of the API at `/console/`: the page with its policy, and the files that it loads. */
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { consolePages } from '#api/http/console/console.ts';
import { readConfig } from '#shared/process/config.ts';
import { testSecurity, testServers } from '#test/support/environment.ts';
import { startIdentityProvider } from '#test/support/identity-provider.ts';
import { builtConsole } from './built-console.ts';

let folder: string;
let server: ConsoleServer;
beforeAll(async () => {
  folder = await builtConsole();
  server = await serveConsole({ CONSOLE_DIR: folder });
}, 240_000);
afterAll(() => server[Symbol.asyncDispose]());

test.each(['/console/', '/console', '/console/t/some-tenant/runs?status=FAILED'])('%s is the page', async (path) => {
  const { status, body, headers } = await server.get(path);

  expect(status).toBe(200);
  expect(headers.get('content-type')).toContain('text/html');
  expect(headers.get('cache-control')).toBe('no-cache');
  expect(body).toContain('<div id="root">');
});

test('each answer has a nonce of its own for styles, and allows nothing inline besides', async () => {
  const answers = await Promise.all([1, 2].map(() => server.get('/console/')));
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

test('documents for what the console does not trust have an opaque origin, reach no server, and are framed by it alone', async () => {
  for (const name of ['code', 'html', 'site']) {
    const { status, body, headers } = await server.get(`/console/frames/${name}`);
    const policy = headers.get('content-security-policy') ?? '';
    expect([name, status, headers.get('x-frame-options')]).toEqual([name, 200, null]);
    expect(policy).toMatch(/^default-src 'none'; sandbox allow-scripts/);
    expect(policy).not.toMatch(/allow-same-origin|allow-top|connect-src/);
    expect(policy).toContain("frame-ancestors 'self'");
    expect(body).toContain('<script>');
  }
});

test('its files are compressed and kept for a year, under their current names alone', async () => {
  const { body } = await server.get('/console/');
  const paths = [...body.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path = '']) => path);

  expect(paths.length).toBeGreaterThan(2);
  for (const path of paths) {
    const { status, headers } = await server.get(path, { 'accept-encoding': 'br' });
    expect({ path, status }).toEqual({ path, status: 200 });
    expect(headers.get('content-encoding')).toBe('br');
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  }
  const removed = await server.get('/console/assets/index-00000000.js');
  expect(removed.status).toBe(404);
  expect((await server.get('/console/scheme.js')).headers.get('cache-control')).toBe('no-cache');
});

test('until it is built, the page says so and tries again', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'gantry-unbuilt-'));
  await using unbuilt = await serveConsole({ CONSOLE_DIR: join(dir, 'built') });

  const before = await unbuilt.get('/console/');
  await mkdir(join(dir, 'built'));
  await writeFile(join(dir, 'built/index.html'), '<p>NONCE</p>');
  const after = await unbuilt.get('/console/');
  await rm(dir, { recursive: true });

  expect(before.status).toBe(503);
  expect(before.body).toContain('node ops/tools/build-console.ts');
  expect(before.headers.get('refresh')).toBe('3');
  expect(after).toMatchObject({ status: 200, body: expect.stringMatching(/^<p>[\w-]{20,}<\/p>$/) });
});

test('the policy lets the page ask the identity provider', async () => {
  await using provider = await startIdentityProvider({ audience: 'gantry' });
  const tokens = { token_endpoint: 'https://tokens.example.test/token' };
  provider.setDiscovery({ issuer: provider.issuer, jwks_uri: `${provider.issuer}/keys`, ...tokens });
  const settings = { AUTH_ISSUER: provider.issuer, AUTH_AUDIENCE: 'gantry', DEV_ISSUER_KEY_FILE: '' };
  await using other = await serveConsole({ ...settings, CONSOLE_DIR: folder });

  const { headers } = await other.get('/console/');

  const allowed = `connect-src 'self' ${provider.issuer} https://tokens.example.test;`;
  expect(headers.get('content-security-policy')).toContain(allowed);
});

interface ConsoleServer extends AsyncDisposable {
  get(path: string, headers?: Record<string, string>): Promise<{ status: number; headers: Headers; body: string }>;
}

/** The pages alone, which need no database. */
async function serveConsole(settings: Record<string, string>): Promise<ConsoleServer> {
  const { databaseURL } = testServers;
  const config = readConfig({ NODE_ENV: 'test', DATABASE_URL: databaseURL, ...testSecurity, ...settings });
  const http = createServer(express().use('/console', consolePages(config)));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const baseURL = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return {
    async get(path, headers = {}) {
      const response = await fetch(baseURL + path, { headers });
      return { status: response.status, headers: response.headers, body: await response.text() };
    },
    async [Symbol.asyncDispose]() {
      http.close();
      http.closeAllConnections();
      await once(http, 'close');
    },
  };
}
