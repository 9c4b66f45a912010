import type pg from 'pg';

/**
 * Asks connections that listen, and otherwise only wait, whether they are alive: one that stays open and carries nothing would bring no
 * message any more, and TCP may never notice. One without an answer within `answerMs` emits an error and ends, and its owner opens another.
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
      // Without a listener its owner has closed it.
      if (client.listenerCount('error') > 0) client.emit('error', error);
      // With a statement under way it does not wait for the other side.
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
