import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buildSchema } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { receiveEvents } from '#test/support/received-events.ts';
import { eventually } from '#test/support/settle.ts';

const schema = buildSchema('type Query { a: Int } type Subscription { orders: String }');

async function startServer(path: string) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, path });
  const roots = {
    subscription: {
      async *orders() {
        yield { orders: path };
      },
    },
  };
  useServer({ schema, roots }, server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    [Symbol.dispose]() {
      for (const client of server.clients) client.terminate();
      server.close();
    },
  };
}

test.each([
  {
    path: '/live',
    from: 'subscriptionEndpoint',
    options: (port: number) => ({
      endpoint: 'http://127.0.0.1:1/graphql',
      subscriptionEndpoint: `ws://127.0.0.1:${port}/live`,
    }),
  },
  { path: '/graphql', from: 'endpoint', options: (port: number) => ({ endpoint: `http://127.0.0.1:${port}/graphql` }) },
])('a subscription is made at the address of $from', async ({ path, options }) => {
  using server = await startServer(path);
  const config = { subscription: 'subscription { orders }' };
  await using received = await receiveEvents('graphql', { options: options(server.port), config });

  await eventually(() => expect(received.events.map(({ body }) => body.toString())).toEqual([`{"orders":"${path}"}`]));
});

test('numbers are passed on, and variables sent, as they are written', async () => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const { promise: subscribed, resolve } = Promise.withResolvers<string>();
  server.on('connection', (socket) =>
    socket.on('message', (message) => {
      const { type, id } = JSON.parse(String(message));
      if (type === 'connection_init') socket.send('{"type":"connection_ack"}');
      if (type !== 'subscribe') return;
      resolve(String(message));
      socket.send(
        `{"id":"${id}","type":"next","payload":{"data":{"n":[7615917337495251231,12345678901234567890.5,1.10]}}}`,
      );
    }),
  );
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const config = { subscription: 'subscription { orders }', variables: '{"min": 12345678901234567890.5}' };
  await using received = await receiveEvents('graphql', { options: { endpoint }, config });

  expect(await subscribed).toContain('"variables":{"min":12345678901234567890.5}');
  await eventually(() =>
    expect(received.events.map(({ body }) => body.toString())).toEqual([
      '{"n":["7615917337495251231","12345678901234567890.5",1.1]}',
    ]),
  );
  for (const client of server.clients) client.terminate();
  server.close();
});
