import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createStartingResponses } from '#api/http/response/starting.ts';
import { refuseTooMany } from '#api/http/response/unreadable.ts';

const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

async function answerOf(listener: RequestListener, path: string, headers: Record<string, string>) {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { headers });
  const text = await response.text();
  server.close();
  return { status: response.status, type: response.headers.get('content-type')?.split(';')[0], text };
}

test.each<[string, number, RequestListener, string]>([
  ['starts', 503, createStartingResponses().respond, 'The service is starting'],
  ['has too many connections of the address', 429, refuseTooMany, 'Too many connections from this address'],
])(
  'a service that %s shows a browser a page where a link leads, and JSON elsewhere',
  async (_case, status, listener, message) => {
    for (const path of [
      '/api/v1/forms/a.b',
      '/api/v1/oauth/google/callback?code=1',
      '/console',
      '/console/t/x/runs?a=1',
    ])
      expect({ path, ...(await answerOf(listener, path, browser)) }).toEqual({
        ...{ path, status, type: 'text/html' },
        text: expect.stringMatching(`${message}[^]*Try again in \\d+ seconds`),
      });
    expect(await answerOf(listener, '/api/v1/tenants', browser)).toMatchObject({ status, type: 'application/json' });
    for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.5']) {
      const { text, ...answer } = await answerOf(listener, '/api/v1/forms/a.b', { accept });
      expect(answer).toEqual({ status, type: 'application/json' });
      expect(JSON.parse(text).error.message).toBe(message);
    }
  },
);
