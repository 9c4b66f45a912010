import type { JsonObject } from '#shared/core/json.ts';
import type { PoolClient } from '#shared/db/pool.ts';
import { storableJSON } from '#shared/db/storable.ts';
import { CLOSE_BREAKERS, FORGET_PROBES, LOCK_BREAKERS, NOTE_FAILURES } from '#shared/triggers/listeners/breakers.ts';

/**
 * Outcome of an attempt for the listener's circuit breaker. `failed`: an error that may be temporary, and that another event would have
 * met too. `reached`: the actions have succeeded. `unknown`: the event was refused because of its content.
 */
export interface OfTarget {
  tenantID: string;
  listenerID: string;
  outcome: 'failed' | 'reached' | 'unknown';
  /** Whether the listener's breaker has let this event through. */
  isProbe: boolean;
}

interface Ended {
  eventID: string;
  error?: JsonObject;
  ofTarget?: OfTarget | undefined;
}

/** Counts consecutive failures of listeners, and closes the breakers of those that have reached their targets. */
export async function noteTargets(client: Pick<PoolClient, 'query'>, ended: readonly Ended[]): Promise<void> {
  const noted = ended.flatMap(({ eventID, error, ofTarget }) => (ofTarget ? [{ eventID, error, ...ofTarget }] : []));
  if (noted.length === 0) return;
  const ids = [...new Set(noted.map(({ listenerID }) => listenerID))];
  await client.query({ name: 'lock_breakers', text: LOCK_BREAKERS, values: [ids] });
  const reached = new Set(noted.flatMap(({ listenerID, outcome }) => (outcome === 'reached' ? [listenerID] : [])));
  const failed = Map.groupBy(
    noted.filter(({ outcome, listenerID }) => outcome === 'failed' && !reached.has(listenerID)),
    ({ listenerID }) => listenerID,
  );
  if (failed.size > 0) {
    const rows = [...failed].map(([listener_id, failures]) => ({
      listener_id,
      tenant_id: failures[0]?.tenantID,
      failures: failures.length,
      error: failures.at(-1)?.error ?? null,
      probe_id: failures.find(({ isProbe }) => isProbe)?.eventID ?? null,
    }));
    await client.query({ name: 'note_failures', text: NOTE_FAILURES, values: [storableJSON(JSON.stringify(rows))] });
  }
  if (reached.size > 0) await client.query({ name: 'close_breakers', text: CLOSE_BREAKERS, values: [[...reached]] });
  const unknownProbes = noted.filter(({ outcome, isProbe }) => outcome === 'unknown' && isProbe);
  if (unknownProbes.length > 0) await client.query(FORGET_PROBES, [unknownProbes.map(({ eventID }) => eventID)]);
}
