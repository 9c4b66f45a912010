import type { EventFilter, EventState } from '../client/listeners.ts';

/** The part of a listener that is shown, as it stands in the address. */
export interface ListenerView extends EventFilter {
  tab?: 'refused' | 'test' | 'settings';
  /** The id of an event. */
  event?: string;
}

export const eventStates = [
  'pending',
  'done',
  'filtered',
  'duplicate',
  'dead',
  'replaced',
] as const satisfies EventState[];

export function parseListenerView({ tab, state, cursor, event }: Record<string, unknown>): ListenerView {
  const known = eventStates.find((one) => one === state);
  return {
    ...((tab === 'refused' || tab === 'test' || tab === 'settings') && { tab }),
    ...(known && { state: known }),
    ...(typeof cursor === 'string' && { cursor }),
    ...(typeof event === 'string' && { event }),
  };
}
