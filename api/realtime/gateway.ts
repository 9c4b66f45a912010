import { type Server as HttpServer, type IncomingMessage, ServerResponse } from 'node:http';
import { Server } from 'socket.io';
import { AppError, toAppError } from '#shared/core/errors.ts';
import { IMPORT_CHANNEL, ImportJobUpdate } from '#shared/messaging/realtime/import-jobs.ts';
import { INTAKE_PAUSE_CHANNEL, IntakePauseUpdate } from '#shared/messaging/realtime/intake-pause.ts';
import { LISTENER_BROADCAST } from '#shared/messaging/realtime/listener-events.ts';
import { TEST_BROADCAST } from '#shared/messaging/realtime/listener-tests.ts';
import { RUN_BROADCAST } from '#shared/messaging/realtime/publish.ts';
import { REMINDER_BROADCAST } from '#shared/messaging/realtime/reminders.ts';
import { ACCESS_CHANNEL, AccessSignal } from '../auth/access-signals.ts';
import type { ApiContext } from '../context/context.ts';
import type { ConnectionLimit } from '../http/limits/connections.ts';
import { reportedHandshake } from '../http/response/report-error.ts';
import { refuseTooMany } from '../http/response/unreadable.ts';
import type { RunWatch } from '../streams/run-watch.ts';
import { createGraphParts } from './bridge/graph-nodes.ts';
import { attachClientEvents } from './client-events.ts';
import { startAssetChanges } from './feeds/asset-changes.ts';
import { OPERATORS, type OperatorSockets, serveFleetRooms } from './feeds/fleet-room.ts';
import { sendImportUpdate } from './feeds/import-jobs.ts';
import { sendIntakePause } from './feeds/intake-pause.ts';
import { sendListenerEvents } from './feeds/listener-events.ts';
import { createListenerTests, sendListenerTests } from './feeds/listener-tests.ts';
import { startNotifications } from './feeds/notifications.ts';
import { startQuestionChanges } from './feeds/question-changes.ts';
import { sendReminders } from './feeds/reminders.ts';
import { startRunChanges } from './feeds/tenant-run-changes.ts';
import { recheck, startRechecks } from './recheck.ts';
import { markLossyNumbers } from './sockets/lossy-numbers.ts';
import { refusalOf } from './sockets/refusal.ts';
import type { SocketServer } from './sockets/socket.ts';
import { createSocketLimits } from './sockets/socket-limits.ts';

interface Dependencies {
  server: HttpServer;
  context: ApiContext;
  watch: RunWatch;
  connections: ConnectionLimit;
}

/** Bytes of a message. A client that sends a longer one is disconnected. */
export const MAX_BYTES = 64 * 1024;

/** Socket.IO on the API's own server. Sends what `watch` delivers to sockets that may receive it; keeps no state of runs. */
export function createGateway({ server, context, watch, connections }: Dependencies): AsyncDisposable {
  const {
    logger,
    messaging: { backplane },
  } = context;
  const origins = context.config.http.corsOrigins;
  const limits = createSocketLimits(connections);
  /** The text that the client gets. */
  function refuse(request: IncomingMessage, error: AppError): string {
    const about = { origin: request.headers.origin, ip: connections.clientOf(request) };
    const { message, requestID } = reportedHandshake(logger, error, about);
    return `${message} (${requestID})`;
  }
  const io: SocketServer = new Server(server, {
    adapter: backplane.adapter(),
    cors: { origin: origins, credentials: true },
    // CORS does not stop a page from opening a WebSocket; this does. Only browsers send an origin.
    allowRequest: (request, done) => {
      const { origin, host } = request.headers;
      const isOwn = origin === undefined || origins.includes(origin) || isOf(origin, host);
      const isNew = !new URL(request.url ?? '', 'http://host').searchParams.has('sid');
      if (isOwn && isNew && !limits.admits(request)) return done(refuse(request, tooManySockets()), false);
      done(isOwn ? null : refuse(request, otherOrigin()), isOwn);
    },
    maxHttpBufferSize: MAX_BYTES,
    serveClient: false,
  });
  markLossyNumbers(io);

  // Each request by polling is counted until its answer, since the connection of a proxy stays open for others; a WebSocket until it
  // closes. engine.io asks `allowRequest` about the first request of a socket only.
  io.engine.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
    const end = response instanceof ServerResponse ? response : request.socket;
    if (connections.admits(request, end)) next();
    else refuseTooMany(request, response);
  });
  io.engine.on('connection', limits.opened);
  io.use(async (socket, next) => {
    try {
      const { userID } = await context.access.authenticator.identifyToken(socket.handshake.auth.token);
      limits.identified(socket.conn, userID);
      const ip = connections.clientOf(socket.request);
      socket.data = { userID, ip, rooms: new Map(), feeds: new Map(), waiting: [], events: { count: 0, until: 0 } };
      next();
    } catch (error) {
      const known = toAppError(error);
      if (known.code === 'RATE_LIMITED') context.requests.refusals.note(known);
      next(refusalOf(logger, known));
    }
  });
  const tests = createListenerTests(context);
  const parts = createGraphParts(context.pool);
  io.on('connection', (socket) => attachClientEvents(socket, { ...context, watch, tests, parts }));
  io.on(RUN_BROADCAST, (broadcast) => watch.receive(broadcast));
  io.on(LISTENER_BROADCAST, (broadcast) => sendListenerEvents(() => io.of('/').sockets.values(), broadcast));
  io.on(TEST_BROADCAST, (broadcast) => sendListenerTests(() => io.of('/').sockets.values(), broadcast));
  io.on(REMINDER_BROADCAST, (broadcast) => void sendReminders(() => io.of('/').sockets.values(), context, broadcast));

  const news = [startAssetChanges, startNotifications, startRunChanges, startQuestionChanges].map((start) =>
    start(() => io.of('/').sockets.values(), context),
  );
  // A namespace has events and a state of its own, for which the types of a server have no place.
  const fleetRooms = serveFleetRooms(io.of(OPERATORS) as unknown as OperatorSockets, {
    ...{ fleet: context.runs.fleet, logger },
    async identify({ handshake, conn }) {
      const { operatorID } = await context.access.operators.identifyToken(String(handshake.auth.token));
      limits.identified(conn, operatorID);
    },
  });
  const rechecks = startRechecks(() => io.of('/').sockets.values(), context);
  // The next round of checks would notice too, but a removed user should not get another event until then.
  const unsubscribeAccess = backplane.messages.subscribe(ACCESS_CHANNEL, (message) => {
    const userID = AccessSignal.safeParse(message).data?.userID;
    for (const socket of io.of('/').sockets.values()) if (socket.data.userID === userID) void recheck(socket, context);
  });

  // Every gateway gets the message, so each sends to its own sockets.
  const unsubscribeIntakePause = backplane.messages.subscribe(INTAKE_PAUSE_CHANNEL, (message) => {
    const update = IntakePauseUpdate.safeParse(message).data;
    if (update) sendIntakePause(io.of('/').sockets.values(), update);
  });

  const unsubscribeImports = backplane.messages.subscribe(IMPORT_CHANNEL, (message) => {
    const update = ImportJobUpdate.safeParse(message).data;
    if (update) void sendImportUpdate(() => io.of('/').sockets.values(), context, update);
  });

  return {
    async [Symbol.asyncDispose]() {
      rechecks[Symbol.dispose]();
      fleetRooms[Symbol.dispose]();
      for (const each of news) each[Symbol.dispose]();
      await tests[Symbol.asyncDispose]();
      unsubscribeAccess();
      unsubscribeIntakePause();
      unsubscribeImports();
      // Not `io.close()`: that closes the HTTP server, which has another owner, and the sockets of other processes.
      io.local.disconnectSockets(true);
      io.engine.close();
      await Promise.all(['/', OPERATORS].map((name) => io.of(name).adapter.close()));
      logger.debug('gateway closed');
    },
  };
}

function tooManySockets(): AppError {
  return new AppError('RATE_LIMITED', 'Too many sockets of this address have not signed in yet', { reason: 'sockets' });
}

function otherOrigin(): AppError {
  return new AppError('PERMISSION_DENIED', 'Pages of this origin may not open a socket (CORS_ORIGINS)');
}

/** Whether a page is of the host that it asks. Its scheme is not compared: behind a proxy that ends TLS we do not see it. */
function isOf(origin: string, host: string | undefined): boolean {
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
