import { setTimeout as sleep } from 'node:timers/promises';
import type { DefaultEventsMap, Server, Socket } from 'socket.io';
import type { AnyServerEvent, AnyServerPayload, ServerMessage } from '#shared/messaging/realtime/events.ts';
import type { LISTENER_BROADCAST, PagePush } from '#shared/messaging/realtime/listener-events.ts';
import type { ListenerTest, TEST_BROADCAST } from '#shared/messaging/realtime/listener-tests.ts';
import type { RUN_BROADCAST, RunBroadcast } from '#shared/messaging/realtime/publish.ts';
import type { REMINDER_BROADCAST, ReminderMessage } from '#shared/messaging/realtime/reminders.ts';
import type { WidgetMessage } from '#shared/messaging/realtime/widget-events.ts';
import type { Deliver } from '../../streams/watched-run.ts';
import type { Grant } from './join.ts';

type ServerToClient = { [E in AnyServerEvent]: (payload: AnyServerPayload<E>) => void };
type Interserver = {
  [RUN_BROADCAST]: (broadcast: RunBroadcast) => void;
  [LISTENER_BROADCAST]: (broadcast: PagePush[]) => void;
  [TEST_BROADCAST]: (broadcast: ListenerTest[]) => void;
  [REMINDER_BROADCAST]: (broadcast: ReminderMessage[]) => void;
};

interface SocketState {
  userID: string;
  ip: string;
  rooms: Map<string, JoinedRoom>;
  /** Feeds by the id of the run. */
  feeds: Map<string, RunFeed>;
  /** Continues runs that wait until less is queued for the client, in the order in which they began to wait. */
  waiting: (() => void)[];
  /** Events of the client in the present minute. */
  events: { count: number; until: number };
}

/** A message of a run, or of a widget that shows it. */
export type Told = ServerMessage | WidgetMessage;

/** A receiver of the changes of a run on a socket: the client itself, or a bridge of a widget. */
export interface Follower {
  /** The number of the next change that it gets. */
  next: number;
  /** Turns a change into messages for the follower. Undefined: the messages of the run as they are. */
  tell?: (change: readonly ServerMessage[]) => Told[] | Promise<Told[]>;
}

/** The messages of one run to a socket: each change is sent to all followers before the next change. */
export interface RunFeed {
  readonly followers: Set<Follower>;
  stop(): void;
}

export interface JoinedRoom {
  /** The right that the socket needs to stay. */
  readonly grant: Grant;
  /** The version of the tenant's rules by which the grant was checked last. */
  version: number;
  /** Set for the room of a widget. */
  readonly bridge?: Bridge;
  /** Set for the room of a run that was entered with a widget: it is left with the last widget of the run. */
  readonly isOfBridge?: true;
  leave(): void;
}

/** A widget that is connected to a run. Nothing of it is needed in another process: the run is in Postgres. */
export interface Bridge {
  readonly widgetID: string;
  readonly instanceID: string;
  readonly tenantID: string;
  /** How the run was started through an app page, if it was. */
  readonly page: { appPageID: string; workflowAlias: string } | null;
  /** The context that is sent with every node, if it is small enough. */
  readonly cached?: { readonly length: number } | null;
}

export type SocketServer = Server<DefaultEventsMap, ServerToClient, Interserver, SocketState>;
export type ClientSocket = Socket<DefaultEventsMap, ServerToClient, Interserver, SocketState>;

/** Characters that may be queued for a client before its runs wait. */
const maxQueued = 64 * 1024;
/** Queued characters after which a client is stuck: runs alone never queue so many. */
const MAX_ANSWERS = 2 * 1024 ** 2;
const ROOM_MS = 20;
/** Runs that continue at once when nothing is queued: each may queue a page. */
const atOnce = 4;

/**
 * Sends in order. All runs that a socket has joined wait while it is slow, so that unread messages stay in Postgres: a page for each of
 * its 500 rooms would be gigabytes.
 */
export function sendTo(
  socket: ClientSocket,
): Deliver & { (messages: Told[]): void; capacity(): Promise<void> | undefined } {
  const emit = socket.emit.bind(socket) as (event: string, payload: unknown) => boolean;
  const deliver = (messages: Told[]) => {
    // Event and payload belong together in the message; the union of pairs is what `emit` cannot express.
    for (const { event, payload } of messages) emit(event, payload);
  };
  return Object.assign(deliver, { capacity: () => capacityFor(socket) });
}

/** Resolves when the client has read what was queued, for a few runs at a time; undefined if the run need not wait. */
function capacityFor(socket: ClientSocket): Promise<void> | undefined {
  if (hasCapacity(socket)) return undefined;
  const { promise, resolve } = Promise.withResolvers<void>();
  if (socket.data.waiting.push(resolve) === 1) void letGoOn(socket);
  return promise;
}

/** Whether a message may be sent that is dropped otherwise. */
export function hasCapacity(socket: Pick<ClientSocket, 'conn'>): boolean {
  return queuedFor(socket) <= maxQueued;
}

/** Whether so many answers are queued that the client must be sending events without reading the answers. */
export function isStuck(socket: ClientSocket): boolean {
  return queuedFor(socket) > MAX_ANSWERS;
}

async function letGoOn(socket: ClientSocket): Promise<void> {
  const { waiting } = socket.data;
  while (waiting.length > 0) {
    await sleep(ROOM_MS);
    const count = socket.connected ? atOnce : waiting.length;
    if (!socket.connected || queuedFor(socket) === 0) for (const goOn of waiting.splice(0, count)) goOn();
  }
}

/** engine.io has its buffered messages in an undeclared field. */
function queuedFor({ conn }: Pick<ClientSocket, 'conn'>): number {
  const { writeBuffer } = conn as unknown as { writeBuffer: { data?: unknown }[] };
  return writeBuffer.reduce((sum, { data }) => sum + (typeof data === 'string' ? data.length : 0), 0);
}
