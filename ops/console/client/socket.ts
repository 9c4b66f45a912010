import { useEffect, useSyncExternalStore } from 'react';
import { io, type Socket } from 'socket.io-client';
import type { AnyServerEvent, AnyServerPayload } from '../../../shared/realtime/events.ts';
import { currentToken, getSession, subscribe as onSession } from '../app/session.ts';

export type { AnyServerPayload, ServerPayload } from '../../../shared/realtime/events.ts';

type ServerEvents = { [E in AnyServerEvent]: (payload: AnyServerPayload<E>) => void };

interface Joined {
  success: boolean;
  seq?: number;
  error?: { code: string; message: string };
}

interface ClientEvents {
  workflow_run_join: (payload: { instanceID: string; lastSeq: number }, answer: (joined: Joined) => void) => void;
  join_room: (room: string, answer: (joined: Joined) => void) => void;
  leave_room: (room: string) => void;
}

let socket: Socket<ServerEvents, ClientEvents> | undefined;
let isConnected = false;
/** Of the token that the socket has: a token that ends takes its socket with it. */
let connectedWith: string | undefined;
const listeners = new Set<() => void>();

onSession(() => {
  const token = getSession()?.token;
  if (!socket || token === connectedWith) return;
  socket.disconnect();
  if (token) socket.connect();
});

/** One socket for all pages. The token is asked for with every connection, since it may be a new one. */
export function getSocket(): Socket<ServerEvents, ClientEvents> {
  if (socket) return socket;
  socket = io({
    transports: ['websocket', 'polling'],
    auth: (give) => {
      currentToken().then(
        (token) => {
          connectedWith = token;
          give({ token });
        },
        () => give({}),
      );
    },
    reconnectionDelay: 500,
    reconnectionDelayMax: 4_000,
  });
  socket.on('connect', () => setConnected(true));
  socket.on('disconnect', (reason) => {
    setConnected(false);
    // The client does not come back by itself when the server has closed the socket.
    if (reason === 'io server disconnect' && getSession()) setTimeout(() => socket?.connect(), 1_000);
  });
  return socket;
}

export function useIsConnected(): boolean {
  useEffect(() => void getSocket(), []);
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isConnected,
  );
}

/** What a page does with a run that it watches. */
export interface Watcher {
  /** Events after this number are sent. */
  lastSeq(): number;
  onRefused?(error: { code: string; message: string }): void;
}

/** Joins a run now and after each reconnect; the answer leaves it. */
export function watchRun(instanceID: string, { lastSeq, onRefused }: Watcher): () => void {
  const own = getSocket();
  const join = () =>
    own.emit('workflow_run_join', { instanceID, lastSeq: lastSeq() }, ({ success, error }) => {
      if (!success && error) onRefused?.(error);
    });
  if (own.connected) join();
  own.on('connect', join);
  return () => {
    own.off('connect', join);
    if (own.connected) own.emit('leave_room', instanceID);
  };
}

function setConnected(now: boolean): void {
  isConnected = now;
  for (const listener of listeners) listener();
}
