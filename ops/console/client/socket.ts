import { useEffect, useSyncExternalStore } from 'react';
import type { Socket } from 'socket.io-client';
import type { AnyServerEvent, AnyServerPayload } from '#shared/messaging/realtime/events.ts';
import { type Connection, connectionOptions, pollAfterTimeouts } from './connection.ts';
import { currentToken, getSession, subscribe as onSession } from './session.ts';
import { whenServed } from './when-served.ts';

export type { AnyServerPayload, ServerPayload } from '#shared/messaging/realtime/events.ts';

type ServerEvents = { [E in AnyServerEvent]: (payload: AnyServerPayload<E>) => void };

interface Refusal {
  code: string;
  message: string;
}

interface Joined {
  success: boolean;
  seq?: number;
  error?: Refusal;
}

interface Connected extends Joined {
  instanceID?: string;
  status?: string;
}

/** To start a run for a widget, or to attach a widget to one. */
interface WidgetConnect {
  widgetID: string;
  tenantID: string;
  mode: 'execute' | 'subscribe';
  workflowID?: string;
  appPageID?: string;
  workflowAlias?: string;
  inputParams?: object;
  idempotencyKey?: string;
  instanceID?: string;
  lastSeq?: number;
}

interface ClientEvents {
  widget_workflow_connect: (payload: WidgetConnect, answer: (connected: Connected) => void) => void;
  widget_workflow_disconnect: (payload: { widgetID: string }) => void;
  workflow_run_join: (payload: { instanceID: string; lastSeq: number }, answer: (joined: Joined) => void) => void;
  join_room: (room: string, answer: (joined: Joined) => void) => void;
  leave_room: (room: string) => void;
}

/** After this time a socket or a room that the server could not open is asked for again. */
const AGAIN_MS = 1_000;

type OpenSocket = Socket<ServerEvents, ClientEvents>;
type Listened = ServerEvents & { connect: () => void };

let socket: OpenSocket | undefined;
let isLoading = false;
let connection: Connection = 'connecting';
/** The token with which the socket connected: a token that ends takes its socket with it. */
let connectedWith: string | undefined;
const listeners = new Set<() => void>();
/** Calls from before the code of the socket was there, in their order. */
const waiting: ((socket: OpenSocket) => void)[] = [];

onSession(() => {
  const token = getSession()?.token;
  if (!socket || token === connectedWith) return;
  socket.disconnect();
  if (token) socket.connect();
});

/** A socket whose code is loaded after the page, which is drawn before it. */
const lateSocket = {
  get connected(): boolean {
    return socket?.connected ?? false;
  },
  on<E extends keyof Listened>(event: E, listener: Listened[E]): void {
    withSocket((own) => own.on(event, listener as never));
  },
  off<E extends keyof Listened>(event: E, listener: Listened[E]): void {
    withSocket((own) => own.off(event, listener as never));
  },
  emit<E extends keyof ClientEvents>(event: E, ...sent: Parameters<ClientEvents[E]>): void {
    withSocket((own) => own.emit(event, ...sent));
  },
};

/** One socket for all pages. */
export function getSocket(): typeof lateSocket {
  if (!socket && !isLoading) void open();
  return lateSocket;
}

function withSocket(act: (socket: OpenSocket) => void): void {
  if (socket) act(socket);
  else waiting.push(act);
}

async function open(): Promise<void> {
  isLoading = true;
  try {
    const { io } = await whenServed(() => import('socket.io-client'));
    socket = createSocket(io);
    for (const act of waiting.splice(0)) act(socket);
  } catch {
    // Its file is that of an earlier version of the console. The next page that asks for a socket tries again.
    setConnection('lost');
  } finally {
    isLoading = false;
  }
}

function createSocket(io: typeof import('socket.io-client').io): OpenSocket {
  // The token is asked for with every connection, since it may be a new one.
  const own: OpenSocket = io({
    ...connectionOptions,
    auth: (give) => {
      currentToken().then(
        (token) => {
          connectedWith = token;
          give({ token });
        },
        () => give({}),
      );
    },
  });
  pollAfterTimeouts(own);
  own.on('connect', () => setConnection('live'));
  own.on('disconnect', (reason) => {
    setConnection('lost');
    // The client does not come back by itself when the server has closed the socket.
    if (reason === 'io server disconnect') connectLater();
  });
  // Nor when the server has refused it, as one does that does not reach its database.
  own.on('connect_error', () => {
    setConnection('lost');
    if (!own.active) connectLater();
  });
  return own;
}

export function useConnection(): Connection {
  useEffect(() => void getSocket(), []);
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => connection,
  );
}

/** Callbacks of a page for a run that it watches. */
export interface Watcher {
  /** Events after this number are sent. */
  lastSeq(): number;
  onRefused?(error: Refusal): void;
}

/** Joins a run now and after each reconnect; the answer leaves it. */
export function watchRun(instanceID: string, { lastSeq, onRefused }: Watcher): () => void {
  return stayIn(instanceID, {
    enter: (answered) => getSocket().emit('workflow_run_join', { instanceID, lastSeq: lastSeq() }, answered),
    ...(onRefused && { onRefused }),
  });
}

interface InRoom {
  onRefused?(error: Refusal): void;
  /** Joined, also again: what changed before, and was not sent to this socket, is told by nothing else. */
  onJoined?(): void;
}

/** Joins a room now and after each reconnect; the answer leaves it. */
export function joinRoom(room: string, more: InRoom): () => void {
  return stayIn(room, { enter: (answered) => getSocket().emit('join_room', room, answered), ...more });
}

interface Stay extends InRoom {
  enter(answered: (joined: Joined) => void): void;
}

/** The only place that joins again: a page that also did so would hide that this has failed. */
function stayIn(room: string, { enter, onRefused, onJoined }: Stay): () => void {
  const own = getSocket();
  let again: ReturnType<typeof setTimeout> | undefined;
  const join = () => {
    clearTimeout(again);
    enter(({ success, error }) => {
      if (success) onJoined?.();
      if (success || !error) return;
      if (error.code === 'PERMISSION_DENIED') onRefused?.(error);
      // The server has too much to do, or does not reach its database: that says nothing of what the caller may see.
      else again = setTimeout(() => own.connected && join(), AGAIN_MS);
    });
  };
  if (own.connected) join();
  own.on('connect', join);
  return () => {
    clearTimeout(again);
    own.off('connect', join);
    if (own.connected) own.emit('leave_room', room);
  };
}

function connectLater(): void {
  setTimeout(() => getSession() && socket?.connect(), AGAIN_MS);
}

function setConnection(now: Connection): void {
  connection = now;
  for (const listener of listeners) listener();
}
