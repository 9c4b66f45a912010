import type { Pool, PoolClient } from './pool.ts';

const timeoutMs = 5_000;

/**
 * Releases broken connections that the entity manager keeps. A transaction whose connection breaks can be neither committed nor
 * rolled back, and Kysely releases a connection only after one of the two: each loss would cost the pool a connection for good,
 * until all requests wait for ever. Also limits the time that a request waits for a connection.
 */
export function reclaimLostConnections(pool: Pool): void {
  pool.options.connectionTimeoutMillis = timeoutMs;
  const taken = new WeakSet<PoolClient>();
  const known = new WeakSet<PoolClient>();
  pool.on('release', (_error, client) => taken.delete(client));
  pool.on('acquire', (client) => {
    taken.add(client);
    if (known.has(client)) return;
    known.add(client);
    client.once('end', () => {
      if (!taken.has(client)) return;
      client.release(true);
      // The holder may still release it, and a second release would be an error.
      client.release = () => {};
    });
  });
}
