/**
 * What has become of an event. `pending`: it waits, or is tried again. `filtered`: an action has ended it. `duplicate`: another
 * delivery had its id. `dead`: it could not be processed, and stays for people to look at. `replaced`: it was `dead`, and a corrected
 * copy has taken its place.
 */
export type EventState = 'pending' | 'done' | 'filtered' | 'duplicate' | 'dead' | 'replaced';
/**
 * What a pending event is held by. `turn`: an earlier event of its key. `target`: its listener's circuit breaker. `listener`: its
 * listener has stopped.
 */
export type HeldBy = 'turn' | 'target' | 'listener';
export type FinalState = Exclude<EventState, 'pending'>;

const DAY_SECONDS = 86_400;

/** Seconds for which a finished event is kept. */
export function keptSeconds(state: FinalState): number {
  return (state === 'dead' ? 30 : 7) * DAY_SECONDS;
}
