import { useEffect, useState } from 'react';
import { type AnyServerPayload, getSocket, joinRoom } from './socket.ts';

export type TestedEvent = AnyServerPayload<'listener_test_event'> & { key: number };

/** A page that shows more becomes slow. */
const MAX_SHOWN = 50;

let lastKey = 0;

/** Events that a listener receives while the page is open, newest first. The test mode records nothing more. */
export function useListenerTest(listenerID: string): { events: readonly TestedEvent[]; refused: string | undefined } {
  const [events, setEvents] = useState<readonly TestedEvent[]>([]);
  const [refused, setRefused] = useState<string>();
  useEffect(() => {
    const socket = getSocket();
    const onEvent = (event: AnyServerPayload<'listener_test_event'>) => {
      if (event.listenerID !== listenerID) return;
      lastKey += 1;
      const next = { ...event, key: lastKey };
      setEvents((before) => [next, ...before].slice(0, MAX_SHOWN));
    };
    socket.on('listener_test_event', onEvent);
    setRefused(undefined);
    const leave = joinRoom(`listener_test:${listenerID}`, { onRefused: ({ message }) => setRefused(message) });
    return () => {
      socket.off('listener_test_event', onEvent);
      leave();
    };
  }, [listenerID]);
  return { events, refused };
}
