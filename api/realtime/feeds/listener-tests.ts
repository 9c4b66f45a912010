import { CountMap } from '#shared/core/count-map.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { ListenerTest } from '#shared/messaging/realtime/listener-tests.ts';
import { rooms } from '../sockets/rooms.ts';
import { type ClientSocket, hasCapacity } from '../sockets/socket.ts';

/** The listeners whose test rooms have sockets of this process. Workers send test events of such listeners only. */
export interface ListenerTests extends AsyncDisposable {
  /** Marks a listener as under test for a minute. Workers see the mark once this resolves. */
  announce(listenerID: string): Promise<void>;
  /** Counts a socket in the test room of a listener. Returns the function that takes the socket out again. */
  begin(listenerID: string): () => void;
}

const RENEW_MS = 20_000;

export function createListenerTests({ pool, logger }: { pool: Pool; logger: Logger }): ListenerTests {
  const sockets = new CountMap();

  async function announce(...listenerIDs: string[]): Promise<void> {
    await pool.query({ name: 'announce_tests', text: ANNOUNCE, values: [listenerIDs] });
  }

  const timer = setInterval(() => {
    if (sockets.size === 0) return;
    announce(...sockets.keys()).catch((error) => logger.warn({ err: error }, 'tests of listeners not renewed'));
  }, RENEW_MS).unref();

  return {
    announce,
    begin(listenerID) {
      sockets.add(listenerID, 1);
      return () => sockets.add(listenerID, -1);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
    },
  };
}

/** Locks rows in the order of their ids, as all processes do, so that they do not deadlock. */
const ANNOUNCE = `
with tested as (select id from listener where id = any($1::uuid[]) order by id for no key update)
update listener l set tested_until = now() + interval '1 minute' from tested where l.id = tested.id`;

/** Sends events to the sockets of this process that test their listeners. Slow sockets are skipped. */
export function sendListenerTests(sockets: () => Iterable<ClientSocket>, broadcast: unknown): void {
  for (const { tenantID: _, ...test } of ListenerTest.array().catch([]).parse(broadcast)) {
    const room = rooms.listenerTest(test.listenerID);
    for (const socket of sockets())
      if (socket.data.rooms.has(room) && hasCapacity(socket)) socket.emit('listener_test_event', test);
  }
}
