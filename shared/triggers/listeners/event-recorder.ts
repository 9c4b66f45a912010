import { setTimeout as sleep } from 'node:timers/promises';
import { bisect } from '../../concurrency/bisect.ts';
import { createFairQueue } from '../../concurrency/fair-queue.ts';
import { CountMap } from '../../core/count-map.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import { isRefusedStatement, type Pool } from '../../db/pool.ts';
import { storable, storableJSON } from '../../db/storable.ts';
import type { Producer } from '../../messaging/producer.ts';
import { createReceived } from './count-received.ts';
import { RECORD_EVENTS } from './event-rows.ts';
import { createReleaseNext, enqueueEvents } from './release-next.ts';

/** An event as it arrived. */
export interface NewEvent {
  id: string;
  tenantID: string;
  listenerID: string;
  /** The listener type. */
  source: string;
  method?: string;
  path?: string;
  query?: string;
  params?: JsonObject;
  /** Without credentials. */
  headers?: [string, string][];
  /** Metadata that types other than webhooks add: a topic, a channel. */
  meta?: JsonObject;
  body: Buffer;
  dedup?: { key: string; bodyHash: string; windowSeconds: number } | undefined;
  orderKey?: string;
  /** The channel of the process whose client waits for the run. */
  awaitedBy?: string | undefined;
  replayOf?: string;
}

export interface Recorded {
  eventID: string;
  /** The earlier event with the same deduplication key, within its window; null if this event is the first. */
  duplicateOf: string | null;
}

export interface EventRecorder extends AsyncDisposable {
  /** Resolves when the event is durable. Rejects if it is not, or if that is unknown. */
  record(event: NewEvent): Promise<Recorded>;
}

interface Dependencies {
  pool: Pool;
  producer: Producer;
  logger: Logger;
  /** Statements that may be under way at once. */
  maxConcurrent?: number;
  flushMs?: number;
}

interface Waiting {
  event: NewEvent;
  resolve(recorded: Recorded): void;
  reject(error: unknown): void;
}

/** Rows and bytes of bodies in one statement. */
const MAX_ROWS = 500;
const MAX_BYTES = 4_000_000;
/** Rows of the extra statement (`createEventRecorder`). */
const EXTRA_ROWS = 50;
/** Longer than usual: nothing waits for the jobs to be added, and missing jobs are added from the rows only after a while. */
const ENQUEUE_TIMEOUT_MS = 2_000;

/**
 * Records events of all tenants in shared statements. Events that arrive while `maxConcurrent` statements are under way wait in a fair
 * queue for the next one. A tenant without events under way need not wait for statements that other tenants have filled: an extra, small
 * statement records its events. If a statement is refused for its data, its halves are tried until the event at fault is alone.
 */
export function createEventRecorder({
  pool,
  producer,
  logger,
  maxConcurrent = 2,
  flushMs = 1_000,
}: Dependencies): EventRecorder {
  const queue = createFairQueue<Waiting>();
  const received = createReceived(pool, logger);
  const releaseNext = createReleaseNext({ pool, producer, logger });
  /** Ordering keys of events in statements under way: the next event of such a key waits, so that it is not recorded before them. */
  const underWay = new Set<string>();
  /** Number of events in statements under way, by tenant. */
  const byTenant = new CountMap();
  /** Tenants of the extra statement: their next events wait for it, so that each tenant's events keep their order. */
  let tenantsOfExtra: ReadonlySet<string> = new Set();
  let busy = 0;
  let isExtraBusy = false;
  let isClosed = false;

  function beginStatement(): void {
    if (busy >= maxConcurrent || queue.size === 0) return;
    busy += 1;
    void drain();
  }

  function beginExtra(): void {
    if (isExtraBusy) return;
    isExtraBusy = true;
    void drainExtra();
  }

  async function drain(): Promise<void> {
    // Events that arrive in the same iteration of the event loop share the statement.
    await new Promise((resolve) => setImmediate(resolve));
    while (queue.size > 0) {
      beginStatement();
      const batch = nextBatch({ maxRows: MAX_ROWS, mayJoin: ({ tenantID }) => !tenantsOfExtra.has(tenantID) });
      // Events left belong to the extra statement's tenants, or to ordering keys under way: those statements begin the next one.
      if (batch.length === 0) break;
      await recordBatch(batch);
    }
    busy -= 1;
  }

  async function drainExtra(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    for (;;) {
      const batch = nextBatch({ maxRows: EXTRA_ROWS, mayJoin: ({ tenantID }) => !byTenant.has(tenantID) });
      if (batch.length === 0) break;
      tenantsOfExtra = new Set(batch.map(({ event }) => event.tenantID));
      await recordBatch(batch);
      tenantsOfExtra = new Set();
      beginStatement();
    }
    isExtraBusy = false;
  }

  function nextBatch({ maxRows, mayJoin }: { maxRows: number; mayJoin: (event: NewEvent) => boolean }): Waiting[] {
    const batch: Waiting[] = [];
    let bytes = 0;
    while (batch.length < maxRows) {
      const next = queue.dequeue(
        ({ event }) =>
          (bytes === 0 || bytes + event.body.length <= MAX_BYTES) &&
          !underWay.has(keyOf(event) ?? '') &&
          mayJoin(event),
      );
      if (!next) break;
      batch.push(next);
      bytes += next.event.body.length;
    }
    return batch;
  }

  async function recordBatch(batch: readonly Waiting[]): Promise<void> {
    const keys = batch.flatMap(({ event }) => keyOf(event) ?? []);
    for (const key of keys) underWay.add(key);
    for (const { event } of batch) count(event, 1);
    await bisect(batch, attempt, ({ reject }, error) => reject(error));
    for (const { event } of batch) count(event, -1);
    for (const key of keys) underWay.delete(key);
  }

  function count({ tenantID }: NewEvent, change: 1 | -1): void {
    byTenant.add(tenantID, change);
  }

  /** Returns the error if one event may have caused it. */
  async function attempt(batch: readonly Waiting[]): Promise<unknown> {
    let rows: Row[];
    try {
      ({ rows } = await pool.query<Row>({ name: 'record_events', text: RECORD_EVENTS, values: valuesOf(batch) }));
    } catch (error) {
      if (isRefusedStatement(error)) return error;
      for (const { reject } of batch) reject(error);
      return undefined;
    }
    const byID = new Map(rows.map((row) => [row.id, row]));
    for (const { event, resolve } of batch) {
      received.add(event);
      resolve({ eventID: event.id, duplicateOf: byID.get(event.id)?.duplicateOf ?? null });
    }
    void enqueue(batch, byID);
    releaseFirst(batch);
    return undefined;
  }

  function releaseFirst(batch: readonly Waiting[]): void {
    for (const { event } of batch) {
      const { listenerID, orderKey } = event;
      if (orderKey !== undefined) void releaseNext({ listenerID, orderKey });
    }
  }

  /** Not waited for: if the queue is away, the jobs are added again from the rows. */
  async function enqueue(batch: readonly Waiting[], rows: ReadonlyMap<string, Row>): Promise<void> {
    const jobs = batch.flatMap(({ event: { id: eventID, tenantID } }) => {
      const { isDispatched = false, isFirst } = rows.get(eventID) ?? {};
      return isDispatched ? [{ tenantID, eventID, isFirst: isFirst === true }] : [];
    });
    await enqueueEvents(producer, jobs, { timeoutMs: ENQUEUE_TIMEOUT_MS }).catch((error) =>
      logger.warn({ err: error, events: jobs.length }, 'events left to the dispatch of workers'),
    );
  }

  const flushing = (async () => {
    while (!isClosed) {
      await sleep(flushMs, undefined, { ref: false });
      await received.flush();
    }
  })();

  return {
    record(event) {
      const { promise, resolve, reject } = Promise.withResolvers<Recorded>();
      const { tenantID } = event;
      queue.enqueue({ tenantID }, { event, resolve, reject });
      if (busy < maxConcurrent) beginStatement();
      else if (!byTenant.has(tenantID)) beginExtra();
      return promise;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      void flushing;
      await received.flush();
    },
  };
}

function keyOf({ listenerID, orderKey }: NewEvent): string | undefined {
  return orderKey === undefined ? undefined : `${listenerID} ${orderKey}`;
}

interface Row {
  id: string;
  duplicateOf: string | null;
  isDispatched: boolean;
  /** Whether its job goes before those of tenants that have more jobs. */
  isFirst: boolean | null;
}

function valuesOf(batch: readonly Waiting[]): [string, Buffer] {
  let at = 0;
  const rows = batch.map(({ event }, n) => {
    const row = rowOf(event, { n, at });
    at += event.body.length;
    return row;
  });
  return [
    storableJSON(JSON.stringify(rows)),
    batch.length === 1 && batch[0] ? batch[0].event.body : Buffer.concat(batch.map(({ event }) => event.body)),
  ];
}

/** Fields without a value are undefined, so JSON leaves them out: in a statement of a hundred rows, their names would take 13 kB. */
function rowOf(event: NewEvent, { n, at }: { n: number; at: number }): Record<string, Json | undefined> {
  const { dedup } = event;
  return {
    n,
    id: event.id,
    tenant_id: event.tenantID,
    listener_id: event.listenerID,
    source: event.source,
    method: event.method,
    path: event.path && storable(event.path),
    query: event.query && storable(event.query),
    params: event.params,
    headers: event.headers,
    meta: event.meta,
    body_at: at,
    body_bytes: event.body.length,
    dedup_key: dedup?.key,
    body_hash: dedup?.bodyHash,
    window_s: dedup?.windowSeconds,
    order_key: event.orderKey,
    awaited_by: event.awaitedBy,
    replay_of: event.replayOf,
  };
}
