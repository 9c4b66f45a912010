import type { Metrics } from '#shared/core/metrics.ts';
import type { Capacity } from './capacity.ts';
import type { LeaseState } from './leases.ts';

/** Counts of an owner of listeners at this moment. */
export interface OwnerStats {
  /** Number of its listeners, by the state of their connections. */
  readonly listeners: Readonly<Record<LeaseState, number>>;
  /** Connections that have ended, or could not be made, since the process began. */
  readonly ended: number;
  /** Events that have arrived and are not recorded yet. */
  readonly unrecorded: { readonly events: number; readonly bytes: number };
}

interface Sources {
  owned: ReadonlyMap<string, { readonly state: LeaseState }>;
  capacity: Pick<Capacity, 'unrecorded'>;
}

export function createOwnerStats({ owned, capacity }: Sources) {
  return {
    ended: 0,
    get listeners() {
      const listeners: Record<LeaseState, number> = { connecting: 0, running: 0, reconnecting: 0, error: 0 };
      for (const { state } of owned.values()) listeners[state] += 1;
      return listeners;
    },
    get unrecorded() {
      return capacity.unrecorded;
    },
  } satisfies OwnerStats;
}

export function addOwnerMetrics({ add }: Pick<Metrics, 'add'>, stats: OwnerStats): void {
  const ofListeners = 'Listeners that this worker owns, by the state of their connection';
  add({ name: 'gantry_owned_listeners', help: ofListeners, kind: 'gauge', labels: ['state'] }, () =>
    Object.entries(stats.listeners).map(([state, value]) => ({ labels: { state }, value })),
  );
  const ofEnded = 'Connections of listeners that have ended, or could not be made';
  add({ name: 'gantry_listener_connections_ended_total', help: ofEnded, kind: 'counter' }, () => [
    { value: stats.ended },
  ]);
  const ofEvents = 'Events of listeners that have arrived and are not recorded yet';
  add({ name: 'gantry_listener_events_in_hand', help: ofEvents, kind: 'gauge' }, () => [
    { value: stats.unrecorded.events },
  ]);
  const ofBytes = 'Bytes of these events';
  add({ name: 'gantry_listener_bytes_in_hand', help: ofBytes, kind: 'gauge' }, () => [
    { value: stats.unrecorded.bytes },
  ]);
}
