import pg from 'pg';
import type { Logger } from '../../core/logger.ts';
import type { Warn } from '../../core/throttled-warning.ts';
import { createSubscriptions } from './subscriptions.ts';
import { watchListeners } from './watch-listeners.ts';

/** LISTEN on a connection of its own. It is opened again when it breaks or, with `answerMs`, when the server does not answer in that time. */
export function createChannels(
  connectionString: string,
  prefix: string,
  publisher: pg.Pool,
  { logger, warn, answerMs }: { logger: Logger; warn: Warn; answerMs?: number | undefined },
) {
  const subscriptions = createSubscriptions(logger);
  let client: pg.Client | undefined;
  let opening: Promise<void> | undefined;
  let isDue = false;
  let closed = false;
  /** The driver wants one statement at a time. */
  let listening = Promise.resolve();

  const serially = (work: () => Promise<void>): void => {
    listening = listening.then(work);
  };
  const watch = answerMs ? watchListeners(() => (client ? [client] : []), answerMs, serially) : undefined;

  function listenNext(on: pg.Client, channel: string): void {
    serially(async () => {
      // A broken connection is replaced by one that listens to all channels.
      if (client === on) await on.query(`listen "${prefix}.${channel}"`).catch(() => undefined);
    });
  }

  function listen(): Promise<void> {
    opening ??= connect().finally(() => {
      opening = undefined;
    });
    return opening;
  }

  async function connect(): Promise<void> {
    const next = new pg.Client({
      connectionString,
      keepAlive: true,
      connectionTimeoutMillis: 5000,
      application_name: `${prefix}.listen`,
    });
    next.on('error', () => retry(next));
    next.on('end', () => retry(next));
    next.on('notification', ({ channel, payload }) =>
      subscriptions.deliver(channel.slice(prefix.length + 1), payload ?? 'null'),
    );
    try {
      await next.connect();
      for (const channel of subscriptions.channels()) await next.query(`listen "${prefix}.${channel}"`);
    } catch (error) {
      next.end().catch(() => undefined);
      throw error;
    }
    client = next;
  }

  function retry(broken: pg.Client): void {
    if (client === broken) client = undefined;
    reopenSoon();
  }

  /** A connection that fails says so several times: only one attempt is due, or each would lead to several more. */
  function reopenSoon(): void {
    if (closed || client || isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      void reopen();
    }, 500).unref();
  }

  async function reopen(): Promise<void> {
    if (closed || client) return;
    try {
      await listen();
    } catch (error) {
      warn(error, 'messages are not received');
      reopenSoon();
    }
  }

  return {
    async publish(channel: string, message: unknown) {
      await publisher.query('select pg_notify($1, $2)', [`${prefix}.${channel}`, JSON.stringify(message)]);
    },
    subscribe(channel: string, listener: (message: unknown) => void) {
      if (subscriptions.add(channel, listener)) {
        if (client) listenNext(client, channel);
        else void reopen();
      }
      return () => subscriptions.remove(channel, listener);
    },
    async close() {
      closed = true;
      watch?.[Symbol.dispose]();
      await opening?.catch(() => undefined);
      await client?.end().catch(() => undefined);
    },
  };
}
