import { useEffect, useState } from 'react';
import { type AnyServerPayload, getSocket, useIsConnected } from './socket.ts';

export type TestedEvent = AnyServerPayload<'listener_test_event'> & { key: number };

/** A page that shows more becomes slow. */
const MAX_SHOWN = 50;

let lastKey = 0;

/** What a listener receives while the page is open, newest first. Nothing is recorded that would not be without it. */
export function useListenerTest(listenerID: string): { events: readonly TestedEvent[]; refused: string | undefined } {
  const isConnected = useIsConnected();
  const [events, setEvents] = useState<readonly TestedEvent[]>([]);
  const [refused, setRefused] = useState<string>();
  useEffect(() => {
    if (!isConnected) return;
    const room = `listener_test:${listenerID}`;
    const socket = getSocket();
    const onEvent = (event: AnyServerPayload<'listener_test_event'>) => {
      if (event.listenerID !== listenerID) return;
      lastKey += 1;
      const next = { ...event, key: lastKey };
      setEvents((before) => [next, ...before].slice(0, MAX_SHOWN));
    };
    socket.on('listener_test_event', onEvent);
    socket.emit('join_room', room, ({ success, error }) => setRefused(success ? undefined : error?.message));
    return () => {
      socket.off('listener_test_event', onEvent);
      if (socket.connected) socket.emit('leave_room', room);
    };
  }, [isConnected, listenerID]);
  return { events, refused };
}
