import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { newID } from '#shared/core/ids.ts';
import { readJSON } from '#shared/core/lossless-json.ts';
import { isRefusedStatement } from '#shared/db/pool.ts';
import type { CountedQuota } from '#shared/tenants/counted-quotas.ts';
import { DEDUP_SECONDS } from '#shared/triggers/listeners/dedup-window.ts';
import type { EventRecorder, NewEvent } from '#shared/triggers/listeners/event-recorder.ts';
import { orderKeyOf } from '#shared/triggers/listeners/order-key.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import type { Arrival, Pausable } from '../sources/source.ts';
import type { Capacity } from './capacity.ts';

/** A larger event is recorded without its body, so that it does not delay the events behind it. */
const MAX_BODY_BYTES = 10_000_000;
/** Unrecorded events of one connection. Beyond these limits nothing more is read from it. */
const MAX_UNDER_WAY = { bytes: 256_000, events: 200 };
const RETRY_MS = { first: 100, most: 2_000 };
/** Pause before a quota that is used up is checked again. */
const QUOTA_MS = 1_000;

interface Needs {
  recorder: Pick<EventRecorder, 'record'>;
  capacity: Capacity;
  /** The quota of events that wait. */
  events: CountedQuota;
  /** The quota of bytes. */
  bytes: CountedQuota;
  /** Resolves while this process may record: after an outage, when its lease is renewed. */
  untilOwned(): Promise<void>;
}

interface RecordingOf {
  tenantID: string;
  listenerID: string;
  type: string;
  /** The template of the key by which events are ordered. */
  orderBy: string;
  signal: AbortSignal;
  /** Is called when an event has arrived. */
  onArrival(): void;
  /** Is called when an event could not be recorded or acknowledged: the connection is to end. */
  onFailure(error: unknown): void;
}

export interface Recording {
  record(arrival: Arrival): Promise<void>;
  recordFrom(stream: Pausable): (arrival: Arrival, acknowledge?: () => unknown) => void;
  untilCapacity(): Promise<void>;
  wasPausedSince(at: number): boolean;
  /** Resolves when nothing is under way any more. */
  settled(): Promise<void>;
}

/** Records the events of one connection. */
export function createRecording({ recorder, capacity, events, bytes, untilOwned }: Needs, of: RecordingOf): Recording {
  const { tenantID, signal } = of;
  const underWay = new Set<Promise<void>>();
  let paused = 0;
  let resumedAt = Number.NEGATIVE_INFINITY;

  async function write(event: NewEvent): Promise<void> {
    for (let waitMs = RETRY_MS.first; ; waitMs = Math.min(waitMs * 2, RETRY_MS.most)) {
      await unlessAborted(signal, untilOwned());
      signal.throwIfAborted();
      try {
        await recorder.record(event);
        return;
      } catch (error) {
        // An earlier attempt has recorded the event, and the answer of Postgres was lost.
        if (isKnownAlready(error)) return;
        if (isRefusedStatement(error)) throw error;
      }
      await sleep(waitMs, undefined, { signal });
    }
  }

  /** Waits until the quotas allow the event. It is not refused, because the server stores what is not read. */
  async function untilWithinQuotas(size: number): Promise<void> {
    while ((await events.add(tenantID)) ?? (await bytes.addMany(tenantID, size)).refusal)
      await sleep(QUOTA_MS, undefined, { signal });
  }

  async function record(arrival: Arrival): Promise<void> {
    of.onArrival();
    const event = eventOf(arrival, of);
    const size = arrival.body.length;
    capacity.add(tenantID, size);
    const work = untilWithinQuotas(size).then(() => write(event));
    underWay.add(work);
    try {
      await work;
    } finally {
      underWay.delete(work);
      capacity.remove(tenantID, size);
    }
  }

  function recordFrom(stream: Pausable): (arrival: Arrival, acknowledge?: () => unknown) => void {
    let pending = 0;
    let size = 0;
    let isPaused = false;
    let isResuming = false;

    const isOwnTooMuch = () => pending >= MAX_UNDER_WAY.events || size >= MAX_UNDER_WAY.bytes;
    const isTooMuch = () => isOwnTooMuch() || capacity.isFull(tenantID);

    async function resume(): Promise<void> {
      if (isResuming) return;
      isResuming = true;
      // The capacity may be used up again when this connection is resumed.
      while (isPaused && !isOwnTooMuch() && !signal.aborted) {
        await capacity.wait(tenantID, signal);
        if (isTooMuch()) continue;
        isPaused = false;
        paused -= 1;
        resumedAt = performance.now();
        stream.resume();
      }
      isResuming = false;
    }

    async function recordAndAcknowledge(arrival: Arrival, acknowledge?: () => unknown): Promise<void> {
      pending += 1;
      size += arrival.body.length;
      const done = record(arrival);
      if (!isPaused && isTooMuch()) {
        isPaused = true;
        paused += 1;
        stream.pause();
      }
      try {
        await done;
        await acknowledge?.();
      } catch (error) {
        // The event is not acknowledged, so the server sends it again to the next connection.
        of.onFailure(error);
      }
      pending -= 1;
      size -= arrival.body.length;
      if (isPaused) void resume();
    }

    return (arrival, acknowledge) => void recordAndAcknowledge(arrival, acknowledge);
  }

  return {
    record,
    recordFrom,
    async untilCapacity() {
      await capacity.wait(tenantID, signal);
      signal.throwIfAborted();
    },
    wasPausedSince: (at) => paused > 0 || resumedAt >= at,
    async settled() {
      await Promise.allSettled(underWay);
    },
  };
}

function eventOf(
  { body, contentType, meta, key }: Arrival,
  { tenantID, listenerID, type, orderBy }: RecordingOf,
): NewEvent {
  const isTooLarge = body.length > MAX_BODY_BYTES;
  const mime = contentType ?? (isJSON(body) ? 'application/json' : undefined);
  const event = {
    id: newID(),
    tenantID,
    listenerID,
    source: type,
    body: isTooLarge ? Buffer.alloc(0) : body,
    meta: isTooLarge ? { ...meta, omittedBytes: body.length } : meta,
    headers: mime === undefined ? [] : [['content-type', mime] satisfies [string, string]],
  };
  const none = { receivedAt: new Date(), method: null, path: null, query: null, params: null };
  const orderKey = orderKeyOf(orderBy, { ...event, ...none });
  return {
    ...event,
    ...(orderKey !== undefined && { orderKey }),
    ...(key !== undefined && {
      dedup: { key: keyOf(key), bodyHash: hash('sha256', body), windowSeconds: DEDUP_SECONDS },
    }),
  };
}

/** The column holds 128 characters. */
function keyOf(key: string): string {
  return key.length <= 100 ? key : hash('sha256', key);
}

/** Whether a larger body is JSON is guessed from its first and last characters, without parsing it. */
const MAX_READ_BYTES = 1_000_000;

function isJSON(body: Buffer): boolean {
  if (body.length === 0 || body.length > MAX_BODY_BYTES || !isUtf8(body)) return false;
  const text = body.toString('utf8');
  if (text.length > MAX_READ_BYTES) return /^\s*[[{]/.test(text) && /[\]}]\s*$/.test(text.slice(-10));
  try {
    readJSON(text);
    return true;
  } catch {
    return false;
  }
}

function isKnownAlready(error: unknown): boolean {
  return error instanceof Error && 'constraint' in error && error.constraint === 'listener_event_pkey';
}
