import { momentOfID } from '../../core/ids.ts';
import type { Query } from '../../db/query.ts';
import { CLAIM_AGAIN, LOCK_DEAD, REDRIVE, REPLACE } from './dead-letters.ts';

interface OfListener {
  tenantID: string;
  listenerID: string;
  /** Seconds within which two events with one deduplication key are the same; 0 if none are. */
  dedupSeconds: number;
}

/** Ids, error code and limits of the time of receipt; null filters nothing. */
export type DeadLetterFilter = readonly [string | null, string | null, string | null, string | null];

interface DeadLetter {
  id: string;
  /** The deduplication key. */
  key: string | null;
  /** When it was received, in milliseconds. */
  at: number;
}

/**
 * Makes dead letters pending again, in the transaction of the query. Each claims its deduplication key once more: one whose key another
 * event holds that is not dead becomes a duplicate of that event, because its sender has repeated the delivery meanwhile.
 */
export async function redrive(
  query: Query,
  { filter, perSecond, ...listener }: OfListener & { filter: DeadLetterFilter; perSecond: number | null },
): Promise<{ readyAt: Date[]; duplicates: ReadonlyMap<string, string> }> {
  const letters = await lockDead(query, listener, filter);
  const duplicates = await claimKeys(query, listener, letters);
  const redriven = letters.map(({ id }) => ({ id, duplicate_of: duplicates.get(id) ?? null }));
  const { rows } = await query<{ readyAt: Date | string }>(REDRIVE, [JSON.stringify(redriven), perSecond]);
  return { readyAt: rows.map(({ readyAt }) => new Date(readyAt)), duplicates };
}

/** The same of one event. Undefined if it is no dead letter any more. */
export async function redriveOne(
  query: Query,
  { eventID, ...listener }: OfListener & { eventID: string },
): Promise<{ duplicateOf?: string } | undefined> {
  const filter = [`{${eventID}}`, null, null, null] as const;
  const { readyAt, duplicates } = await redrive(query, { ...listener, filter, perSecond: null });
  const duplicateOf = duplicates.get(eventID);
  if (readyAt.length === 0) return undefined;
  return duplicateOf ? { duplicateOf } : {};
}

interface Correction {
  eventID: string;
  /** The id of the copy. */
  copyID: string;
  bodyBase64: string | null;
  /** JSON. */
  headers: string | null;
}

/** Puts a corrected copy in the place of a dead letter, unless it is a duplicate. Undefined if it is no dead letter any more. */
export async function redriveCorrected(
  query: Query,
  { eventID, copyID, bodyBase64, headers, ...listener }: OfListener & Correction,
): Promise<{ duplicateOf?: string } | undefined> {
  const { tenantID, listenerID } = listener;
  const [letter] = await lockDead(query, listener, [`{${eventID}}`, null, null, null]);
  if (!letter) return undefined;
  // The copy claims the key, with the time of the event.
  const duplicateOf = (await claimKeys(query, listener, [{ ...letter, id: copyID }])).get(copyID);
  if (duplicateOf) await query(REDRIVE, [JSON.stringify([{ id: eventID, duplicate_of: duplicateOf }]), null]);
  else await query(REPLACE, [eventID, copyID, tenantID, listenerID, bodyBase64, headers]);
  return duplicateOf ? { duplicateOf } : {};
}

async function lockDead(
  query: Query,
  { tenantID, listenerID }: OfListener,
  filter: DeadLetterFilter,
): Promise<DeadLetter[]> {
  const { rows } = await query<Omit<DeadLetter, 'at'> & { receivedAt: Date | string }>(LOCK_DEAD, [
    tenantID,
    listenerID,
    ...filter,
  ]);
  return rows.map(({ id, key, receivedAt }) => ({ id, key, at: new Date(receivedAt).getTime() }));
}

/** Claims the keys of events and answers which of them are duplicates of which event. */
async function claimKeys(
  query: Query,
  { tenantID, listenerID, dedupSeconds }: OfListener,
  letters: readonly DeadLetter[],
): Promise<Map<string, string>> {
  const keyed = letters.flatMap(({ key, ...letter }) =>
    key === null || dedupSeconds === 0 ? [] : [{ ...letter, key }],
  );
  const windowMs = dedupSeconds * 1_000;
  const duplicates = new Map<string, string>();
  const firsts = new Map<string, DeadLetter[]>();
  for (const letter of keyed) {
    const same = firsts.get(letter.key) ?? [];
    const first = same.findLast(({ at }) => Math.abs(letter.at - at) <= windowMs);
    if (first) duplicates.set(letter.id, first.id);
    else firsts.set(letter.key, [...same, letter]);
  }
  if (firsts.size === 0) return duplicates;
  const claims = [...firsts].map(([key, same]) => ({ key, id: same.at(-1)?.id }));
  const { rows } = await query<{ key: string; heldBy: string }>(CLAIM_AGAIN, [
    tenantID,
    listenerID,
    JSON.stringify(claims),
    dedupSeconds,
  ]);
  for (const { key, heldBy } of rows) {
    const beaten = (firsts.get(key) ?? []).filter(
      ({ id, at }) => id !== heldBy && Math.abs(momentOfID(heldBy) - at) <= windowMs && !isOwn(heldBy),
    );
    for (const { id } of beaten) duplicates.set(id, heldBy);
  }
  for (const [id, first] of duplicates) duplicates.set(id, duplicates.get(first) ?? first);
  return duplicates;

  /** A later event of the same request holds the key; the earlier ones are outside of its window. */
  function isOwn(heldBy: string): boolean {
    return keyed.some(({ id }) => id === heldBy);
  }
}
