import type pg from 'pg';

/** The part of a pool that the socket adapter uses. */
export interface SocketPool {
  /** A connection to listen on. */
  connect(): Promise<pg.PoolClient>;
  query: pg.Pool['query'];
  /** From now on no connection is checked out. */
  close(): void;
}

/**
 * The pool of one socket adapter, which listens on one connection and sends on another. The adapter never releases a connection:
 * each that broke would use up one of the pool for good, and after two nothing could be sent any more. After a failed LISTEN it even
 * asks for two. So the connection that is checked out last is the only one: those before it, and those that have ended, are closed.
 */
export function createSocketPool(listening: pg.Pool, sending: pg.Pool): SocketPool {
  let checkedOut: pg.PoolClient | undefined;
  let asked = 0;
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
    // The adapter would ask for another one, which it has done already, or must not do any more.
    client.removeAllListeners('end');
    giveBack(client);
  }

  return {
    async connect() {
      asked += 1;
      const own = asked;
      if (checkedOut) takeBack(checkedOut);
      const client = await listening.connect();
      if (isClosed || own !== asked) {
        client.release(true);
        return new Promise(() => undefined);
      }
      checkedOut = client;
      // The adapter's own listener then asks for another one.
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
