import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import type { JsonObject } from '#shared/core/json.ts';
import { websocket } from '#shared/datasources/types/websocket.ts';
import { openDatasource } from '#test/support/connector.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { reservedBy } from '#test/support/reserved-bytes.ts';
import { selfSigned } from '#test/support/self-signed.ts';
import { eventually } from '#test/support/settle.ts';
import { createOutbound } from '#workers/outbound/gate.ts';

async function open(onMessage: (socket: WebSocket, text: string) => void, options: JsonObject = {}, key = 'k') {
  const server = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    verifyClient: ({ req }: { req: { headers: NodeJS.Dict<string | string[]> } }) => req.headers['x-key'] === key,
  });
  await once(server, 'listening');
  server.on('connection', (socket) => socket.on('message', (message) => onMessage(socket, String(message))));
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const datasource = await openDatasource(websocket, { url, headers: [{ key: 'X-Key', value: 'k' }], ...options });
  return {
    url,
    server,
    datasource,
    async [Symbol.asyncDispose]() {
      await datasource[Symbol.asyncDispose]();
      for (const client of server.clients) client.terminate();
      server.close();
    },
  };
}

const echo = (socket: WebSocket, text: string) => socket.send(text);

test('a message has its values, and the reply is the result', async () => {
  await using opened = await open(echo);
  await opened.datasource.test();
  const inputs = { t: '"}x' };
  const run = async (query: JsonObject) => (await opened.datasource.execute(query, inputs)).data;

  expect(await run({ message: '{"a": {{inputs.t}}, "b": "<{{inputs.t}}>"}' })).toEqual({ a: '"}x', b: '<"}x>' });
  expect(await run({ message: { a: '{{inputs.t}}' } })).toEqual({ a: '"}x' });
  expect(await run({ message: 'say {{inputs.t}}', messageFormat: 'text' })).toBe('say "}x');
  await eventually(() => expect(opened.server.clients.size).toBe(0));
});

test('bytes are read as base64, and no reply is awaited unless requested', async () => {
  const seen: string[] = [];
  await using opened = await open((socket, text) => {
    seen.push(text);
    socket.send(Buffer.from([0, 255]));
  });

  expect((await opened.datasource.execute({ message: '1' })).data).toBe('AP8=');
  expect((await opened.datasource.execute({ message: '2', waitForAnswer: false })).data).toBeNull();
  expect(seen).toEqual(['1', '2']);
});

test('numbers of a reply that a double does not hold are texts', async () => {
  await using opened = await open(echo);
  const message = '{"id": 7615917337495251231, "n": [1e400, 0.1234567890123456789, 1.10], "deep": {"n": -0}}';

  expect((await opened.datasource.execute({ message, messageFormat: 'text' })).data).toEqual({
    id: '7615917337495251231',
    n: ['1e400', '0.1234567890123456789', 1.1],
    deep: { n: -0 },
  });
});

test('a missing reply is awaited up to the time limit, and the server sees the end', async () => {
  await using opened = await open(() => undefined, { timeout: 1 });

  await expect(opened.datasource.execute({ message: '1' })).rejects.toMatchObject({
    code: 'UPSTREAM_TIMEOUT',
    details: { reason: 'timeout' },
  });
  await expect(
    opened.datasource.execute({ message: '1' }, {}, { signal: AbortSignal.timeout(100) }),
  ).rejects.toMatchObject({ name: 'TimeoutError' });

  await eventually(() => expect(opened.server.clients.size).toBe(0));
});

test('a server that hangs up, refuses or sends too much is an error', async () => {
  await using hanging = await open((socket) => socket.close());
  await expect(hanging.datasource.execute({ message: '1' })).rejects.toMatchObject({ details: { reason: 'lost' } });
  await using refusing = await open(echo, {}, 'another');
  await expect(refusing.datasource.test()).rejects.toMatchObject({ details: { reason: 'authentication' } });
  await using shouting = await open((socket) => socket.send('x'.repeat(11_000_000)));
  await expect(shouting.datasource.execute({ message: '1' })).rejects.toThrow(/more than 10 MB/);
});

test('a redirect is not followed, and a disallowed address is not contacted', async () => {
  await using server = await startHTTP((_request, response) => void response.writeHead(302, { location: '/x' }).end());
  await using moved = await openDatasource(websocket, { url: `ws://127.0.0.1:${server.port}/` });
  await expect(moved.test()).rejects.toMatchObject({ details: { reason: 'refused' } });
  expect(server.seen).toHaveLength(1);
  await using shut = await openDatasource(
    websocket,
    { url: `ws://127.0.0.1:${server.port}/` },
    { outbound: createOutbound({ allow: [] }) },
  );
  await expect(shut.test()).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
  expect(server.seen).toHaveLength(1);
});

test('the certificate of a server is verified, unless that is turned off', async () => {
  const https = createServer(selfSigned);
  const server = new WebSocketServer({ server: https });
  server.on('connection', (socket) => socket.on('message', (message) => socket.send(String(message))));
  https.listen(0, '127.0.0.1');
  await once(https, 'listening');
  const url = `wss://localhost:${(https.address() as AddressInfo).port}/`;
  await using strict = await openDatasource(websocket, { url });
  await using lax = await openDatasource(websocket, { url, sslVerify: false });

  await expect(strict.test()).rejects.toMatchObject({ details: { reason: 'tls' } });
  expect((await lax.execute({ message: '[1]' })).data).toEqual([1]);

  https.closeAllConnections();
  https.close();
});

test('a reply counts among the bytes that a worker holds', async () => {
  await using opened = await open((socket) => socket.send('x'.repeat(1_000_000)));

  expect(await reservedBy(() => opened.datasource.execute({ message: { a: 1 } }))).toBeGreaterThanOrEqual(1_000_000);
});
