import type { Server as HttpServer } from 'node:http';
import { Server } from 'socket.io';
import { toAppError } from '#shared/errors.ts';
import { RUN_BROADCAST } from '#shared/realtime/publish.ts';
import { ACCESS_CHANNEL, AccessSignal } from '../auth/access-signals.ts';
import type { ApiContext } from '../context.ts';
import { attachClientEvents, leave, stillSignedIn } from './client-events.ts';
import { requireGrant } from './join.ts';
import type { ClientSocket, SocketServer } from './socket.ts';
import type { RunWatch } from './watch.ts';

interface Dependencies {
  server: HttpServer;
  context: ApiContext;
  watch: RunWatch;
}

/** Longest time that a socket stays in a room after its user has lost the permission. */
const RECHECK_MS = 10_000;
const maxBytes = 64 * 1024;

/** Socket.IO on the API's own server. Sends what `watch` delivers to sockets that may receive it; keeps no state of runs. */
export function createGateway({ server, context, watch }: Dependencies): AsyncDisposable {
  const { backplane, logger } = context;
  const origins = context.config.http.corsOrigins;
  const io: SocketServer = new Server(server, {
    adapter: backplane.adapter(),
    cors: { origin: origins, credentials: true },
    // CORS does not stop a page from opening a WebSocket; this does. Only browsers send an origin.
    allowRequest: ({ headers: { origin } }, done) => done(null, origin === undefined || origins.includes(origin)),
    maxHttpBufferSize: maxBytes,
    serveClient: false,
  });

  io.use(async (socket, next) => {
    try {
      const { userID } = await context.authenticator.identifyToken(socket.handshake.auth.token);
      socket.data = { userID, rooms: new Map() };
      next();
    } catch (error) {
      const { code, message } = toAppError(error);
      next(Object.assign(new Error(message), { data: { code, message } }));
    }
  });
  io.on('connection', (socket) => attachClientEvents(socket, { ...context, watch }));
  io.on(RUN_BROADCAST, (broadcast) => watch.receive(broadcast));

  let isChecking = false;
  async function recheckAll(): Promise<void> {
    if (isChecking) return;
    isChecking = true;
    await Promise.all([...io.of('/').sockets.values()].map((socket) => recheck(socket, context))).finally(() => {
      isChecking = false;
    });
  }
  const timer = setInterval(() => void recheckAll(), RECHECK_MS).unref();
  // The next round would find out too; but a removed user should not see another event.
  const unsubscribe = backplane.messages.subscribe(ACCESS_CHANNEL, (message) => {
    const userID = AccessSignal.safeParse(message).data?.userID;
    for (const socket of io.of('/').sockets.values()) if (socket.data.userID === userID) void recheck(socket, context);
  });

  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      unsubscribe();
      // Not `io.close()`: that closes the HTTP server, which has another owner, and the sockets of other processes.
      io.local.disconnectSockets(true);
      io.engine.close();
      await io.of('/').adapter.close();
      logger.debug('gateway closed');
    },
  };
}

/**
 * Re-checks every socket. A user who is no longer signed in is disconnected. The connection of a user who has left a tenant is
 * closed: the client reconnects by itself and joins the rooms it still may. A socket leaves a room that it may no longer be in.
 * While the check fails, sockets stay.
 */
async function recheck(socket: ClientSocket, context: ApiContext): Promise<void> {
  if (await isRefused(stillSignedIn(socket, context))) {
    socket.disconnect(true);
    return;
  }
  const tenants = new Set([...socket.data.rooms.values()].map(({ grant }) => grant.tenantID));
  for (const tenantID of tenants)
    if (await isRefused(requireGrant(context, socket.data.userID, { tenantID }))) {
      socket.conn.close();
      return;
    }
  for (const [room, { grant }] of socket.data.rooms) {
    if (await isRefused(requireGrant(context, socket.data.userID, grant))) leave(socket, room);
  }
}

async function isRefused(check: Promise<void>): Promise<boolean> {
  try {
    await check;
    return false;
  } catch (error) {
    return toAppError(error).status < 500;
  }
}
