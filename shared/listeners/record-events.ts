import { setTimeout as sleep } from 'node:timers/promises';
import { ADD_COUNTS, ADD_USAGE, RECORD_EVENTS } from '../db/listener-events.ts';
import { isRefusedStatement, type Pool } from '../db/pool.ts';
import { storable, storableJSON } from '../db/storable.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Logger } from '../logger.ts';
import type { Producer } from '../producer.ts';
import { listenerEvents } from '../queues/listener-events.ts';
import { createTurns } from '../turns.ts';
import { createFreeTurn } from './free-turns.ts';

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
  /** What other types than webhooks say of it: a topic, a channel. */
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
  /** The event that had the id before, within its window. */
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
  /** Statements at once. */
  lanes?: number;
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
/** Nothing waits for it, and what is not added is added again from the rows only after a while. */
const HAND_OVER_PATIENCE_MS = 2_000;
/** Jobs of a tenant that go before those of others in one statement. */
const FIRST = 50;

/**
 * Records events of all tenants together: those that arrive while a statement is under way share the next one, in which tenants take
 * turns. If a statement is refused for its data, its halves are tried until the one event at fault is alone.
 */
export function createEventRecorder({
  pool,
  producer,
  logger,
  lanes = 2,
  flushMs = 1_000,
}: Dependencies): EventRecorder {
  const line = createTurns<Waiting>();
  const usage = createUsage(pool, logger);
  const freeTurn = createFreeTurn({ pool, producer, logger });
  /** Keys of events in statements under way: the next event of one waits, so that it is not recorded before. */
  const underWay = new Set<string>();
  let busy = 0;
  let isClosed = false;

  function begin(): void {
    if (busy >= lanes || line.size === 0) return;
    busy += 1;
    void drain();
  }

  async function drain(): Promise<void> {
    // Others of this turn of the event loop come along.
    await new Promise((resolve) => setImmediate(resolve));
    while (line.size > 0) {
      begin();
      const batch = nextBatch();
      // Another lane goes on with them.
      if (batch.length === 0) break;
      const keys = batch.flatMap(({ event }) => keyOf(event) ?? []);
      for (const key of keys) underWay.add(key);
      await attempt(batch);
      for (const key of keys) underWay.delete(key);
    }
    busy -= 1;
  }

  function nextBatch(): Waiting[] {
    const batch: Waiting[] = [];
    let bytes = 0;
    while (batch.length < MAX_ROWS) {
      const next = line.take(
        ({ event }) => (bytes === 0 || bytes + event.body.length <= MAX_BYTES) && !underWay.has(keyOf(event) ?? ''),
      );
      if (!next) break;
      batch.push(next);
      bytes += next.event.body.length;
    }
    return batch;
  }

  async function attempt(batch: readonly Waiting[]): Promise<void> {
    if (batch.length === 0) return;
    let rows: Row[];
    try {
      ({ rows } = await pool.query<Row>({ name: 'record_events', text: RECORD_EVENTS, values: valuesOf(batch) }));
    } catch (error) {
      if (batch.length === 1 || !isRefusedStatement(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      const middle = batch.length >> 1;
      await attempt(batch.slice(0, middle));
      await attempt(batch.slice(middle));
      return;
    }
    const byID = new Map(rows.map((row) => [row.id, row]));
    for (const { event, resolve } of batch) {
      usage.add(event);
      resolve({ eventID: event.id, duplicateOf: byID.get(event.id)?.duplicateOf ?? null });
    }
    void handOver(batch.filter(({ event }) => byID.get(event.id)?.isDispatched));
    freeFirst(batch);
  }

  function freeFirst(batch: readonly Waiting[]): void {
    for (const { event } of batch) {
      const { listenerID, orderKey } = event;
      if (orderKey !== undefined) void freeTurn({ listenerID, orderKey });
    }
  }

  /** Not waited for: if the queue is away, the jobs are added again from the rows. */
  async function handOver(dispatched: readonly Waiting[]): Promise<void> {
    const counts = new Map<string, number>();
    const jobs = dispatched.map(({ event: { id: eventID, tenantID } }) => {
      const before = counts.get(tenantID) ?? 0;
      counts.set(tenantID, before + 1);
      return { payload: { tenantID, eventID }, priority: before < FIRST ? 1 : 2 };
    });
    for (const [priority, group] of Map.groupBy(jobs, (job) => job.priority))
      await producer
        .enqueue(
          listenerEvents,
          group.map(({ payload }) => payload),
          { priority, patienceMs: HAND_OVER_PATIENCE_MS },
        )
        .catch((error) => logger.warn({ err: error, events: group.length }, 'events left to the dispatch of workers'));
  }

  const flushing = (async () => {
    while (!isClosed) {
      await sleep(flushMs, undefined, { ref: false });
      await usage.flush();
    }
  })();

  return {
    record(event) {
      const { promise, resolve, reject } = Promise.withResolvers<Recorded>();
      line.add({ tenantID: event.tenantID }, { event, resolve, reject });
      begin();
      return promise;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      void flushing;
      await usage.flush();
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

function rowOf(event: NewEvent, { n, at }: { n: number; at: number }): Record<string, Json> {
  const { dedup } = event;
  return {
    n,
    id: event.id,
    tenant_id: event.tenantID,
    listener_id: event.listenerID,
    source: event.source,
    method: event.method ?? null,
    path: event.path === undefined ? null : storable(event.path),
    query: event.query === undefined ? null : storable(event.query),
    params: event.params ?? null,
    headers: event.headers ?? null,
    meta: event.meta ?? null,
    body_at: at,
    body_bytes: event.body.length,
    dedup_key: dedup?.key ?? null,
    body_hash: dedup?.bodyHash ?? null,
    window_s: dedup?.windowSeconds ?? null,
    order_key: event.orderKey ?? null,
    awaited_by: event.awaitedBy ?? null,
    replay_of: event.replayOf ?? null,
  };
}

interface Sum {
  events: number;
  bytes: number;
}

/** What was received since the last flush. A process that is killed loses a second of it, which only counts and quotas notice. */
function createUsage(pool: Pool, logger: Logger) {
  let byTenant = new Map<string, Sum>();
  let byListener = new Map<string, { events: number; at: Date }>();

  return {
    add({ tenantID, listenerID, body }: NewEvent): void {
      const sum = byTenant.get(tenantID) ?? { events: 0, bytes: 0 };
      sum.events += 1;
      sum.bytes += body.length;
      byTenant.set(tenantID, sum);
      const events = (byListener.get(listenerID)?.events ?? 0) + 1;
      byListener.set(listenerID, { events, at: new Date() });
    },
    async flush(): Promise<void> {
      if (byTenant.size === 0) return;
      const tenants = [...byTenant].map(([tenant_id, sum]) => ({ tenant_id, ...sum }));
      const listeners = [...byListener].map(([listener_id, sum]) => ({ listener_id, ...sum }));
      byTenant = new Map();
      byListener = new Map();
      const report = (error: unknown) => logger.warn({ err: error }, 'counts of events are lost');
      await pool.query(ADD_USAGE, [JSON.stringify(tenants)]).catch(report);
      await pool.query(ADD_COUNTS, [JSON.stringify(listeners)]).catch(report);
    },
  };
}
