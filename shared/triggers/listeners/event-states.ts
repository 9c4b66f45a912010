/**
 * State of an event. `pending`: it waits, or is tried again. `filtered`: an action has ended its processing. `duplicate`: an earlier
 * delivery had the same deduplication key. `dead`: it could not be processed, and stays for people to examine. `replaced`: it was `dead`,
 * and a corrected copy has taken its place.
 */
export type EventState = 'pending' | 'done' | 'filtered' | 'duplicate' | 'dead' | 'replaced';
/**
 * Why a pending event is deferred. `turn`: behind an earlier event of its key. `target`: its listener's circuit breaker. `listener`: its
 * listener has stopped.
 */
export type DeferredBy = 'turn' | 'target' | 'listener';
export type FinalState = Exclude<EventState, 'pending'>;

const DAY_SECONDS = 86_400;

/** Seconds after which a finished event is deleted. */
export function retentionSeconds(state: FinalState): number {
  return (state === 'dead' ? 30 : 7) * DAY_SECONDS;
}
