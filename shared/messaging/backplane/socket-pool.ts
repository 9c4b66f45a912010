import type pg from 'pg';

/** The part of a pool that the socket adapter uses. */
export interface SocketPool {
  /** A connection to listen on. */
  connect(): Promise<pg.PoolClient>;
  query: pg.Pool['query'];
  /** Closes the connection in use; no other is checked out any more. */
  close(): void;
}

/**
 * The pool of one socket adapter, which listens on one connection and sends on another. The adapter never releases a connection: every
 * broken one would occupy the pool for good, until nothing could be sent any more. After a failed LISTEN it even requests two. So only the
 * connection that was checked out last stays open: earlier ones, and those that have ended, are closed.
 */
export function createSocketPool(listening: pg.Pool, sending: pg.Pool): SocketPool {
  let checkedOut: pg.PoolClient | undefined;
  let requestCount = 0;
  let isClosed = false;

  // The adapter also releases its connection when it is closed.
  listening.on('release', (_error, client) => {
    if (checkedOut === client) checkedOut = undefined;
  });

  function giveBack(client: pg.PoolClient): void {
    client.release(true);
    // The adapter may still release it, and a second release would be an error.
    client.release = () => undefined;
  }

  function takeBack(client: pg.PoolClient): void {
    // Without its listener the adapter does not request another connection: it has done so already, or the pool is closed.
    client.removeAllListeners('end');
    giveBack(client);
  }

  return {
    async connect() {
      requestCount += 1;
      const request = requestCount;
      if (checkedOut) takeBack(checkedOut);
      const client = await listening.connect();
      if (isClosed || request !== requestCount) {
        client.release(true);
        return new Promise(() => undefined);
      }
      checkedOut = client;
      // The adapter's own listener for `end` then requests another connection.
      client.once('end', () => {
        if (checkedOut === client) giveBack(client);
      });
      return client;
    },
    query: sending.query.bind(sending) as pg.Pool['query'],
    close() {
      isClosed = true;
      if (checkedOut) takeBack(checkedOut);
    },
  };
}
