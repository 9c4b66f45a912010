import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, test, vi } from 'vitest';
import { bodyReader } from '#api/http/request/body.ts';

const PIECE = 100_000;

test.each([
  ['few', PIECE],
  ['many', 10 * PIECE],
])('a body of %s characters is parsed without a piece that holds the event loop', async (_what, characters) => {
  const read = bodyReader({ maxBytes: 20 * PIECE });
  const app = express().post('/', async (request, response) => {
    const { value } = await read(request, response);
    response.json((value as { list: number[] }).list.length);
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const list = Array.from({ length: characters / 2 }, () => 1);
  const body = JSON.stringify({ list });
  using parse = vi.spyOn(JSON, 'parse');

  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const lengths = parse.mock.calls.map(([text]) => text.length);

  expect(await response.text()).toBe(String(list.length));
  expect(Math.max(...lengths)).toBeLessThanOrEqual(1.2 * PIECE);
  server.close();
});
