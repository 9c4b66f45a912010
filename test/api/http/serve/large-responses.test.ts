import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, test, vi } from 'vitest';
import type { RequestContext } from '#api/http/serve/request-context.ts';
import { sendResponse } from '#api/http/serve/send-response.ts';
import type { JsonObject } from '#shared/core/json.ts';

test.each<[string, JsonObject]>([
  ['of many objects', { data: Array.from({ length: 100_000 }, () => ({})) }],
  ['of many keys', { data: Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`k${n}`, n])) }],
  ['that is small', { data: [1, null, { a: 'ä' }] }],
])('a response %s is written in pieces', async (_what, fields) => {
  const app = express().get('/', (request, response) =>
    // Safe: without a reservation it needs no more of the context.
    sendResponse({ request, response } as RequestContext, { status: 200, fields }),
  );
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const expected = JSON.stringify(fields);
  using stringify = vi.spyOn(JSON, 'stringify');

  const response = await fetch(`http://127.0.0.1:${port}/`);
  const text = await response.text();
  const lengths = stringify.mock.results.map(({ value }) => String(value).length);

  expect(text === expected).toBe(true);
  expect(Math.max(...lengths)).toBeLessThan(20_000);
  server.close();
});
