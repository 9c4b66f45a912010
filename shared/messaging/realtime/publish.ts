import { Server } from 'socket.io';
import type { Backplane } from '../backplane/index.ts';
import type { ServerMessage } from './events.ts';
import { LISTENER_BROADCAST, type PagePush } from './listener-events.ts';
import { type ListenerTest, TEST_BROADCAST } from './listener-tests.ts';
import { REMINDER_BROADCAST, type ReminderMessage } from './reminders.ts';
import { presentRunEvent, type RunEventRow } from './run-events.ts';

/** Message from a worker to all gateways: ids of runs, each with its messages in order of `seq`. */
export type RunBroadcast = [instanceID: string, messages: ServerMessage[]][];

export const RUN_BROADCAST = 'run_messages';

export interface Publisher extends AsyncDisposable {
  /** Sends committed changes to the gateways, which order them and send them to the clients that watch the run. */
  runEvents(rows: readonly RunEventRow[]): void;
  /** Sends reminders to the gateways, which pass them to the sockets of those who may answer. */
  reminders(messages: readonly ReminderMessage[]): void;
  /** Sends events of listeners to the gateways, which pass them to the sockets that watch the app pages. */
  listenerEvents(messages: readonly PagePush[]): void;
  /** Sends events of listeners that are tested to the gateways. */
  listenerTests(tests: readonly ListenerTest[]): void;
}

/** Creates the publisher of a process without sockets. It reaches the gateways through the socket adapter, so it needs no HTTP server. */
export function createPublisher(backplane: Backplane): Publisher {
  const io = new Server({ adapter: backplane.sendingAdapter() });
  // The adapter is created with the namespace, and the namespace on first access.
  const namespace = io.of('/');

  return {
    runEvents(rows) {
      if (rows.length === 0) return;
      const byRun = new Map<string, ServerMessage[]>();
      for (const row of rows) {
        const messages = byRun.get(row.instanceID);
        if (messages) messages.push(...presentRunEvent(row));
        else byRun.set(row.instanceID, presentRunEvent(row));
      }
      namespace.serverSideEmit(RUN_BROADCAST, [...byRun] satisfies RunBroadcast);
    },
    reminders(messages) {
      if (messages.length > 0) namespace.serverSideEmit(REMINDER_BROADCAST, [...messages]);
    },
    listenerEvents(pushes) {
      if (pushes.length > 0) namespace.serverSideEmit(LISTENER_BROADCAST, [...pushes]);
    },
    listenerTests(tests) {
      if (tests.length > 0) namespace.serverSideEmit(TEST_BROADCAST, [...tests]);
    },
    async [Symbol.asyncDispose]() {
      // Closing the server would throw (it has no HTTP engine); the adapter's connections end with the backplane.
      await namespace.adapter.close();
    },
  };
}
