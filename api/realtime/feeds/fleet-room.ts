import type { Server as HttpServer, IncomingMessage } from 'node:http';
import { type DefaultEventsMap, type Namespace, Server, type Socket } from 'socket.io';
import { AppError, toAppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { AnyServerPayload, operatorEvents } from '#shared/messaging/realtime/events.ts';
import type { FleetView } from '../../fleet/fleet.ts';
import { ID } from '../../http/fields/id.ts';
import { reported } from '../../http/response/report-error.ts';
import { presentFleet, presentTenantState } from '../../resources/fleet/present.ts';
import { refusalOf } from '../sockets/refusal.ts';
import { hasCapacity } from '../sockets/socket.ts';

/** The namespace of operators, who sign in differently than users. */
export const OPERATORS = '/operator';
const EVERY_MS = 2_000;
/** Rooms of a socket: each room of a tenant is a reading of its own. */
const MAX_ROOMS = 5;
const FLEET = 'fleet';
/** Bytes of a message of an operator: it holds the name of a room and nothing else. */
const MAX_BYTES = 4 * 1_024;

type OperatorEvents = { [E in keyof typeof operatorEvents]: (payload: AnyServerPayload<E>) => void };
export type OperatorSockets = Namespace<DefaultEventsMap, OperatorEvents, DefaultEventsMap, { rooms: Set<string> }>;
type OperatorSocket = Socket<DefaultEventsMap, OperatorEvents, DefaultEventsMap, { rooms: Set<string> }>;

/** Rejects unless the socket's operator is signed in. Asked again before each reading is sent. */
export type IdentifyOperator = (socket: Pick<OperatorSocket, 'conn' | 'handshake' | 'request'>) => Promise<unknown>;

interface Dependencies {
  fleet: FleetView;
  identify: IdentifyOperator;
  logger: Logger;
}

/**
 * Rooms for people on call: `fleet` is sent what `GET /api/v1/operator/fleet` answers, and `fleet:<tenantID>` what the address of the
 * tenant answers, when a socket joins and with each reading. No process announces changes of these rows, so they are read again and
 * again, once for all sockets, and only while a socket is in a room.
 */
export function serveFleetRooms(namespace: OperatorSockets, { fleet, identify, logger }: Dependencies): Disposable {
  namespace.use((socket, next) => {
    socket.data = { rooms: new Set() };
    identify(socket).then(
      () => next(),
      (error: unknown) => next(refusalOf(logger, toAppError(error))),
    );
  });
  namespace.on('connection', (socket) => {
    socket.on('join_room', (room: unknown, reply: unknown) => void answer(reply, () => join(socket, room)));
    socket.on('leave_room', (room: unknown, reply: unknown) => {
      socket.data.rooms.delete(String(room));
      void answer(reply, async () => ({ room: String(room) }));
    });
  });

  async function answer(reply: unknown, work: () => Promise<object>): Promise<void> {
    const acknowledge = typeof reply === 'function' ? reply : () => undefined;
    try {
      acknowledge({ success: true, ...(await work()) });
    } catch (error) {
      acknowledge({ success: false, error: reported(logger, error, { namespace: OPERATORS }) });
    }
  }

  async function join(socket: OperatorSocket, room: unknown): Promise<{ room: string }> {
    const name = nameOf(room);
    const { rooms } = socket.data;
    if (rooms.size >= MAX_ROOMS && !rooms.has(name))
      throw new AppError('QUOTA_EXCEEDED', `A socket may be in ${MAX_ROOMS} rooms`, { reason: 'socket rooms' });
    await identify(socket);
    const send = await read(name);
    if (!send) throw new AppError('NOT_FOUND', 'Tenant not found');
    rooms.add(name);
    send(socket);
    return { room: name };
  }

  /** Reads the state that a room is sent; undefined for an unknown tenant. */
  async function read(room: string): Promise<((socket: OperatorSocket) => void) | undefined> {
    if (room === FLEET) {
      const state = presentFleet(await fleet.read());
      return (socket) => void socket.emit('fleet_update', state as AnyServerPayload<'fleet_update'>);
    }
    const state = await fleet.tenant(room.slice(FLEET.length + 1));
    if (!state) return undefined;
    const shown = presentTenantState(state) as AnyServerPayload<'fleet_tenant_update'>;
    return (socket) => void socket.emit('fleet_tenant_update', shown);
  }

  async function round(): Promise<void> {
    const joined = [...namespace.sockets.values()].filter(({ data }) => data.rooms.size > 0);
    await Promise.all(joined.map((socket) => leaveIfRefused(socket, identify)));
    const staying = joined.filter(({ connected }) => connected);
    for (const room of new Set(staying.flatMap(({ data }) => [...data.rooms]))) {
      const send = await read(room);
      for (const socket of staying) if (socket.data.rooms.has(room) && hasCapacity(socket)) send?.(socket);
    }
  }

  let isBusy = false;
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    round()
      .catch((error: unknown) => logger.warn({ err: error }, 'fleet not read for its room; the next round will'))
      .finally(() => {
        isBusy = false;
      });
  }, EVERY_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** The rooms alone, on a server that has no gateway. `admits` refuses requests of other sites. */
export function serveFleetSockets(
  server: HttpServer,
  { admits, ...dependencies }: Dependencies & { admits: (request: IncomingMessage) => boolean },
): AsyncDisposable {
  const io = new Server(server, {
    allowRequest: (request, done) => done(null, admits(request)),
    maxHttpBufferSize: MAX_BYTES,
    serveClient: false,
  });
  const rooms = serveFleetRooms(io.of(OPERATORS), dependencies);
  return {
    async [Symbol.asyncDispose]() {
      rooms[Symbol.dispose]();
      // The owner of the HTTP server closes it.
      io.disconnectSockets(true);
      io.of(OPERATORS).disconnectSockets(true);
      io.engine.close();
    },
  };
}

function nameOf(room: unknown): string {
  const text = typeof room === 'string' ? room : '';
  const tenantID = ID.safeParse(text.slice(FLEET.length + 1)).data;
  if (text === FLEET) return FLEET;
  if (tenantID && text.startsWith(`${FLEET}:`)) return `${FLEET}:${tenantID}`;
  throw new AppError('VALIDATION_ERROR', 'room: expected "fleet" or "fleet:<tenantID>"');
}

async function leaveIfRefused(socket: OperatorSocket, identify: IdentifyOperator): Promise<void> {
  const refusal = await identify(socket).then(
    () => undefined,
    (error: unknown) => toAppError(error),
  );
  // A check that fails itself ends no session.
  if (refusal && refusal.status < 500) socket.disconnect(true);
}
