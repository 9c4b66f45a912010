import type { Pool, PoolClient } from './pool.ts';

const patienceMs = 5_000;

/**
 * Gives back what the entity manager keeps. A transaction whose connection breaks can be neither committed nor rolled back, and
 * Kysely releases a connection only after one of the two: each such loss would cost the pool a slot for good, until every
 * request waits for ever. And while all slots are taken, a request is to hear so rather than wait without end.
 */
export function reclaimLostConnections(pool: Pool): void {
  pool.options.connectionTimeoutMillis = patienceMs;
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
      // Whoever holds it may yet notice and let go: a second time would be an error.
      client.release = () => {};
    });
  });
}
