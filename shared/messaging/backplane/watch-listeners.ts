import type pg from 'pg';

/**
 * Checks connections that only listen for whether they are alive: a dead one that stays open would deliver no messages any more, and TCP may
 * never notice. A connection without an answer within `answerMs` emits an error and ends, and its owner opens another.
 */
export function watchListeners(
  listeners: () => Iterable<pg.ClientBase>,
  answerMs: number,
  serially: (ask: () => Promise<void>) => void = (ask) => void ask(),
): Disposable {
  const asked = new WeakSet<pg.ClientBase>();

  async function ask(client: pg.ClientBase): Promise<void> {
    try {
      await client.query({ text: 'select', query_timeout: answerMs } as pg.QueryConfig);
    } catch (error) {
      // Without a listener the owner has closed the connection already, and the event would be an uncaught exception.
      if (client.listenerCount('error') > 0) client.emit('error', error);
      // The statement is still under way, so `end` closes the connection without waiting for the server.
      (client as pg.Client).end().catch(() => undefined);
    }
    asked.delete(client);
  }

  const timer = setInterval(() => {
    for (const client of listeners()) {
      if (asked.has(client)) continue;
      asked.add(client);
      serially(() => ask(client));
    }
  }, answerMs / 3).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
