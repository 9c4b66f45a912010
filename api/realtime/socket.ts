import { setTimeout as sleep } from 'node:timers/promises';
import type { DefaultEventsMap, Server, Socket } from 'socket.io';
import type { ServerEvent, ServerMessage, ServerPayload, TenantEvent, TenantPayload } from '#shared/realtime/events.ts';
import type { IntakeUpdate } from '#shared/realtime/intake.ts';
import type { RUN_BROADCAST, RunBroadcast } from '#shared/realtime/publish.ts';
import type { REMINDER_BROADCAST, ReminderNotice } from '#shared/realtime/reminders.ts';
import type { Grant } from './join.ts';
import type { Deliver } from './watched-run.ts';

type ServerToClient = { [E in ServerEvent]: (payload: ServerPayload<E>) => void } & {
  [E in TenantEvent]: (payload: TenantPayload<E>) => void;
} & {
  workflow_intake_update: (update: IntakeUpdate) => void;
};
type Interserver = {
  [RUN_BROADCAST]: (broadcast: RunBroadcast) => void;
  [REMINDER_BROADCAST]: (broadcast: ReminderNotice[]) => void;
};

interface SocketState {
  userID: string;
  rooms: Map<string, JoinedRoom>;
  /** Events of the client in the present minute. */
  events: { count: number; until: number };
}

export interface JoinedRoom {
  /** The right that the socket needs to stay. */
  readonly grant: Grant;
  /** Of the tenant's rules by which the grant was checked last. */
  version: number;
  leave(): void;
}

export type SocketServer = Server<DefaultEventsMap, ServerToClient, Interserver, SocketState>;
export type ClientSocket = Socket<DefaultEventsMap, ServerToClient, Interserver, SocketState>;

const maxQueued = 500;

/** Sends in order, and waits for a slow client, so that unread messages stay in Postgres. */
export function sendTo(socket: ClientSocket): Deliver {
  const emit = socket.emit.bind(socket) as (event: string, payload: unknown) => boolean;
  return (messages: ServerMessage[]) => {
    // Event and payload belong together in the message; the union of pairs is what `emit` cannot express.
    for (const { event, payload } of messages) emit(event, payload);
    if (queuedFor(socket) > maxQueued) return drained(socket);
  };
}

async function drained(socket: ClientSocket): Promise<void> {
  while (socket.connected && queuedFor(socket) > 0) await sleep(20);
}

/** engine.io has the number of its buffered messages in an undeclared field. */
function queuedFor({ conn }: ClientSocket): number {
  return (conn as unknown as { writeBuffer: unknown[] }).writeBuffer.length;
}
