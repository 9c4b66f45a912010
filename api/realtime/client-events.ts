import type { z } from 'zod';
import { AppError, toAppError } from '#shared/core/errors.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import { type ClientEvent, clientEvents } from '#shared/messaging/realtime/client-events.ts';
import type { RunStatus } from '#shared/workflow/progress/status.ts';
import { ID } from '../http/fields/id.ts';
import { reported } from '../http/response/report-error.ts';
import { attachWidgetEvents } from './bridge/attach.ts';
import type { BridgeContext } from './bridge/widget-events.ts';
import { follow } from './feeds/follow-run.ts';
import type { ListenerTests } from './feeds/listener-tests.ts';
import { noteOnSocket } from './sockets/audit-sockets.ts';
import { enter, leave, type NamedWork, requireFreeRoom, tenantsOf, type Work } from './sockets/enter.ts';
import {
  findJoinable,
  findListenerGrant,
  findPageGrants,
  type Grant,
  joinDenied,
  lackOf,
  requireGrant,
} from './sockets/join.ts';
import { refuseLossyNumbers } from './sockets/lossy-numbers.ts';
import { pageRoom, rooms } from './sockets/rooms.ts';
import { type ClientSocket, isStuck } from './sockets/socket.ts';

export interface EventContext extends BridgeContext {
  tests: ListenerTests;
}

/** Events of clients. Each answers by its acknowledgement: `{ success: true, … }`, or the error as over HTTP. */
export function attachClientEvents(socket: ClientSocket, context: EventContext): void {
  const on = (event: ClientEvent, work: Work) => void socket.on(event, answer(socket, context, { event, work }));
  on('workflow_run_join', (sent) => joinRun(socket, context, requireValue(clientEvents.workflow_run_join, sent)));
  on('join_room', (sent) => joinRoom(socket, context, requireValue(clientEvents.join_room, sent, ['room'])));
  on('leave_room', (sent) => leaveRoom(socket, context, requireValue(clientEvents.leave_room, sent, ['room'])));
  attachWidgetEvents(socket, context, async ({ event, work }, payload, acknowledge) => {
    const signedIn: Work = async (sent) => {
      await stillSignedIn(socket, context);
      return work(sent);
    };
    return answer(socket, context, { event, work: signedIn })(payload, acknowledge);
  });
  socket.onAny((event: string, ...sent: unknown[]) => {
    if (Object.hasOwn(clientEvents, event)) return;
    const refuse = answer(socket, context, { event, work: () => Promise.reject(unknownEvent(event)) });
    void refuse(undefined, sent.at(-1));
  });
  socket.on('disconnect', () => leaveAll(socket, context));
}

const MAX_SHOWN = 50;

function unknownEvent(event: string): AppError {
  const known = Object.keys(clientEvents).join(', ');
  return new AppError('VALIDATION_ERROR', `There is no event "${event.slice(0, MAX_SHOWN)}": expected one of ${known}`);
}

interface Joined {
  answer: { instanceID: string; status: RunStatus; seq: number };
  /** Called after the answer, so that the client knows what the messages belong to. */
  begin(): void;
}

/** Sends every event after `lastSeq`, then live events. A second join starts over. */
async function joinRun(
  socket: ClientSocket,
  context: EventContext,
  { instanceID, lastSeq }: z.output<typeof clientEvents.workflow_run_join>,
): Promise<Joined> {
  await stillSignedIn(socket, context);
  const { grant, version, status, seq } = await findJoinable(context, socket.data.userID, instanceID);
  requireFreeRoom(socket, instanceID);
  return {
    answer: { instanceID, status, seq },
    begin() {
      // At most the last event of the run: a client that names a later one would miss all before it, and with them the
      // end of the run.
      const after = Math.min(lastSeq, seq);
      const begin = () => follow(socket, context.watch, { instanceID, lastSeq: after });
      enter(socket, context, { room: rooms.run(instanceID), grant, version, begin });
    },
  };
}

async function joinRoom(socket: ClientSocket, context: EventContext, room: string) {
  if (room.startsWith(PAGE)) return joinPage(socket, context, room);
  if (room.startsWith(TEST)) return joinTest(socket, context, room);
  const tenantID = ID.safeParse(room.startsWith('tenant:') ? room.slice('tenant:'.length) : '').data;
  if (!tenantID) throw joinDenied();
  await stillSignedIn(socket, context);
  const grant: Grant = { tenantID };
  const version = await requireGrant(context, socket.data.userID, grant);
  const name = rooms.tenant(tenantID);
  requireFreeRoom(socket, name);
  return {
    answer: { room: name },
    begin() {
      // There is nothing to subscribe to: messages to the room of a tenant go to all sockets with this entry.
      enter(socket, context, { room: name, grant, version, begin: () => () => undefined });
    },
  };
}

const PAGE = 'listener:app_page:';
const TEST = 'listener_test:';

/** Enters the room to which events of a listener are sent while it is tested. */
async function joinTest(socket: ClientSocket, context: EventContext, room: string) {
  const listenerID = ID.safeParse(room.slice(TEST.length)).data;
  if (!listenerID) throw joinDenied();
  await stillSignedIn(socket, context);
  const checked = await findListenerGrant(context, socket.data.userID, listenerID);
  const name = rooms.listenerTest(listenerID);
  requireFreeRoom(socket, name);
  // Announced before the answer, so that every event after the answer is sent.
  await context.tests.announce(listenerID);
  const begin = () => context.tests.begin(listenerID);
  return { answer: { room: name }, begin: () => enter(socket, context, { room: name, ...checked, begin }) };
}

/** Enters a room of the page for each tenant whose listeners send to it and in which the user may read it. */
async function joinPage(socket: ClientSocket, context: EventContext, room: string) {
  const appPageID = ID.safeParse(room.slice(PAGE.length)).data;
  if (!appPageID) throw joinDenied();
  await stillSignedIn(socket, context);
  const found = await findPageGrants(context, socket.data.userID, appPageID);
  const names = found.map(({ grant }) => rooms.appPage(appPageID, grant.tenantID));
  for (const name of names) requireFreeRoom(socket, name);
  return {
    answer: { room: pageRoom(appPageID) },
    begin() {
      for (const [at, checked] of found.entries())
        enter(socket, context, { room: names[at] ?? '', ...checked, begin: () => () => undefined });
    },
  };
}

async function leaveRoom(socket: ClientSocket, { requests: { audit } }: EventContext, room: string) {
  // A page has one room for each tenant.
  const own = [...socket.data.rooms.keys()].filter(
    (name) => name === room || name.startsWith(`${room.toLowerCase()}@`),
  );
  for (const name of own) {
    const grant = socket.data.rooms.get(name)?.grant;
    leave(socket, name);
    if (grant) noteOnSocket(audit, socket, { action: 'leave', grant, room: name });
  }
  return { answer: { room }, begin: () => undefined };
}

/** Throws as the handshake did when the token has expired or its user is blocked. */
export async function stillSignedIn(
  socket: ClientSocket,
  { access: { authenticator } }: Pick<EventContext, 'access'>,
): Promise<void> {
  await authenticator.identifyToken(socket.handshake.auth.token);
}

function leaveAll(socket: ClientSocket, { requests: { audit } }: EventContext): void {
  for (const tenantID of tenantsOf(socket)) noteOnSocket(audit, socket, { action: 'disconnect', grant: { tenantID } });
  for (const room of [...socket.data.rooms.keys()]) leave(socket, room);
}

/**
 * Limits of a socket: each event is answered, and most are read from Postgres, so a minute's number is enough to join
 * some rooms.
 */
const EVENTS = { maxPerMinute: 2_000, minuteMs: 60_000, maxIgnored: 10_000 };

/** Counts for the socket here and for its user over all processes. A socket that keeps on sending is disconnected. */
async function countEvent(socket: ClientSocket, { requests: { count: requestCount } }: EventContext): Promise<void> {
  const { events, userID } = socket.data;
  const now = performance.now();
  if (events.until <= now) Object.assign(events, { count: 0, until: now + EVENTS.minuteMs });
  events.count += 1;
  if (events.count > EVENTS.maxPerMinute + EVENTS.maxIgnored) socket.disconnect(true);
  if (events.count > EVENTS.maxPerMinute)
    throw new AppError('RATE_LIMITED', `A socket may send ${EVENTS.maxPerMinute} events a minute`, {
      reason: 'socket events',
    });
  await requestCount.countEvent(userID);
}

function answer(socket: ClientSocket, context: EventContext, { event, work }: NamedWork) {
  const {
    logger,
    requests: { refusals, audit },
  } = context;
  /** Returns the error if the work has failed. */
  return async (payload: unknown, acknowledge: unknown): Promise<AppError | undefined> => {
    if (isStuck(socket)) {
      socket.disconnect(true);
      return undefined;
    }
    const reply = typeof acknowledge === 'function' ? acknowledge : () => undefined;
    try {
      await countEvent(socket, context);
      refuseLossyNumbers(payload);
      const { answer: fields, begin } = await work(payload);
      reply({ success: true, ...fields });
      begin();
      return undefined;
    } catch (error) {
      const known = toAppError(error);
      refusals.note(known);
      const grant = lackOf(known);
      if (grant) noteOnSocket(audit, socket, { action: 'refuse', grant, more: { event } });
      reply({ success: false, error: reported(logger, known, { event, userID: socket.data.userID }) });
      return known;
    }
  };
}
