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
