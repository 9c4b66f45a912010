import type { Server as HttpServer } from 'node:http';
import { Server } from 'socket.io';
import { toAppError } from '#shared/errors.ts';
import { INTAKE_CHANNEL, IntakeUpdate } from '#shared/realtime/intake.ts';
import { RUN_BROADCAST } from '#shared/realtime/publish.ts';
import { REMINDER_BROADCAST } from '#shared/realtime/reminders.ts';
import { ACCESS_CHANNEL, AccessSignal } from '../auth/access-signals.ts';
import type { ApiContext } from '../context.ts';
import type { ConnectionLimit } from '../http/connections.ts';
import { attachClientEvents } from './client-events.ts';
import { recheck, startRechecks } from './recheck.ts';
import { sendReminders } from './reminders.ts';
import { rooms } from './rooms.ts';
import type { SocketServer } from './socket.ts';
import type { RunWatch } from './watch.ts';

interface Dependencies {
  server: HttpServer;
  context: ApiContext;
  watch: RunWatch;
  connections: ConnectionLimit;
}

const maxBytes = 64 * 1024;

/** Socket.IO on the API's own server. Sends what `watch` delivers to sockets that may receive it; keeps no state of runs. */
export function createGateway({ server, context, watch, connections }: Dependencies): AsyncDisposable {
  const { backplane, logger } = context;
  const origins = context.config.http.corsOrigins;
  const io: SocketServer = new Server(server, {
    adapter: backplane.adapter(),
    cors: { origin: origins, credentials: true },
    // CORS does not stop a page from opening a WebSocket; this does. Only browsers send an origin.
    allowRequest: (request, done) => {
      const { origin, host } = request.headers;
      const isOwn = origin === undefined || origins.includes(origin) || isOf(origin, host);
      // Polling comes in many requests, of which each is counted while it lasts.
      done(null, isOwn && connections.admits(request, request.socket));
    },
    maxHttpBufferSize: maxBytes,
    serveClient: false,
  });

  io.use(async (socket, next) => {
    try {
      const { userID } = await context.authenticator.identifyToken(socket.handshake.auth.token);
      socket.data = { userID, rooms: new Map(), events: { count: 0, until: 0 } };
      next();
    } catch (error) {
      const { code, message } = toAppError(error);
      next(Object.assign(new Error(message), { data: { code, message } }));
    }
  });
  io.on('connection', (socket) => attachClientEvents(socket, { ...context, watch }));
  io.on(RUN_BROADCAST, (broadcast) => watch.receive(broadcast));
  io.on(REMINDER_BROADCAST, (broadcast) => void sendReminders(() => io.of('/').sockets.values(), context, broadcast));

  const rechecks = startRechecks(() => io.of('/').sockets.values(), context);
  // The next round would find out too; but a removed user should not see another event.
  const unsubscribeAccess = backplane.messages.subscribe(ACCESS_CHANNEL, (message) => {
    const userID = AccessSignal.safeParse(message).data?.userID;
    for (const socket of io.of('/').sockets.values()) if (socket.data.userID === userID) void recheck(socket, context);
  });

  // Every gateway gets the message, so each sends to its own sockets.
  const unsubscribeIntake = backplane.messages.subscribe(INTAKE_CHANNEL, (message) => {
    const update = IntakeUpdate.safeParse(message).data;
    if (update) io.local.to(rooms.tenant(update.tenantID)).emit('workflow_intake_update', update);
  });

  return {
    async [Symbol.asyncDispose]() {
      rechecks[Symbol.dispose]();
      unsubscribeAccess();
      unsubscribeIntake();
      // Not `io.close()`: that closes the HTTP server, which has another owner, and the sockets of other processes.
      io.local.disconnectSockets(true);
      io.engine.close();
      await io.of('/').adapter.close();
      logger.debug('gateway closed');
    },
  };
}

/** Whether a page is of the host that it asks. Its scheme is not compared: behind a proxy that ends TLS we do not see it. */
function isOf(origin: string, host: string | undefined): boolean {
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
