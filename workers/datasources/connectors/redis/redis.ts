import type { Redis } from 'ioredis';
import type { redis } from '#shared/datasources/types/redis.ts';
import { createSharedConnection } from '../../../connections/shared-connection.ts';
import { openStream } from '../../../outbound/tls.ts';
import { formatAddress } from '../../../outbound/upstream-error.ts';
import type { Connector } from '../connector.ts';
import { callOn, clientOn, endpointOf, signIn } from './client.ts';
import { executeOperation } from './operations.ts';

/** Connects once for all calls: Redis runs one command at a time anyway, and no command here blocks. */
export const connectRedis: Connector<typeof redis> = (options, { outbound }) => {
  const endpoint = endpointOf(options);
  const where = formatAddress(endpoint.host, endpoint.port);
  const shared = createSharedConnection<Redis>({
    where,
    async open(signal) {
      const client = clientOn(await openStream(endpoint, outbound, signal));
      try {
        await client.connect();
        await signIn(client, endpoint, where);
        return client;
      } catch (error) {
        client.disconnect();
        throw error;
      }
    },
    isOpen: (client) => client.status === 'ready',
    close: (client) => client.disconnect(),
  });

  return {
    test: (signal) =>
      shared.use(signal, async (client) => {
        await callOn(client, where)('PING');
      }),
    execute: ({ query }, { signal, maxRows }) =>
      shared.use(signal, (client) => executeOperation(query, callOn(client, where), { signal, maxRows })),
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
};
