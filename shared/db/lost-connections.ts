import type { Pool, PoolClient } from './pool.ts';

const timeoutMs = 5_000;

/**
 * Releases broken connections that the entity manager keeps. A transaction whose connection breaks can be neither committed nor
 * rolled back, and Kysely releases a connection only after one of the two: each loss would cost the pool a connection for good,
 * until all requests wait for ever. Also limits the time that a request waits for a connection.
 */
export function reclaimLostConnections(pool: Pool): void {
  pool.options.connectionTimeoutMillis = timeoutMs;
  const checkedOut = new WeakSet<PoolClient>();
  const watched = new WeakSet<PoolClient>();
  pool.on('release', (_error, client) => checkedOut.delete(client));
  pool.on('acquire', (client) => {
    checkedOut.add(client);
    if (watched.has(client)) return;
    watched.add(client);
    client.once('end', () => {
      if (!checkedOut.has(client)) return;
      client.release(true);
      // The holder may still release it, and a second release would be an error.
      client.release = () => {};
    });
  });
}
