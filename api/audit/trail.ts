import { type AuditRecord, insertAuditRecords } from '#shared/access/audit/records.ts';
import { createBatcher } from '#shared/concurrency/batcher.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import { isRefusedStatement, type Pool } from '#shared/db/pool.ts';
import type { Producer } from '#shared/messaging/producer.ts';
import { auditEntries } from '#shared/messaging/queues/audit-entries.ts';

/** A buffer with this many records is sent at once, a smaller one after `flushMs`. */
const BATCH = 50;
/** Records that a process holds while the queue is away. Beyond them the newest are lost, and counted. */
const MAX_WAITING = 5_000;
/** Time that the queue has to accept a batch. Batches are sent in the background, so no request waits for it. */
const TIMEOUT_MS = 5_000;

/** Writes the audit trail of tenants. */
export interface AuditTrail {
  /** Resolves when the record is durable. Concurrent records share a statement. */
  write(record: AuditRecord): Promise<void>;
  /** Leaves the record to a buffer, which is stored within some seconds. A process that dies loses it. Never throws. */
  note(record: AuditRecord): void;
  /** Totals so far, for metrics. */
  readonly counts: { written: number; noted: number; lost: number };
}

/** Disposing it sends what the buffer holds. */
export function createAuditTrail({
  pool,
  producer,
  flushMs,
  logger,
}: {
  pool: Pool;
  producer: Pick<Producer, 'enqueue'>;
  /** Time that a record may wait for others. */
  flushMs: number;
  logger: Logger;
}): AuditTrail & AsyncDisposable {
  const insert = createBatcher(async (records: AuditRecord[]) => {
    await insertAuditRecords(pool, records);
    return records;
  }, isRefusedStatement);
  const counts = { written: 0, noted: 0, lost: 0 };
  let waiting: AuditRecord[] = [];
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;

  function send(): void {
    clearTimeout(timer);
    timer = undefined;
    sending ??= sendAll().finally(() => {
      sending = undefined;
      if (waiting.length > 0) timer ??= setTimeout(send, flushMs).unref();
    });
  }

  /** Enqueues the buffer, one job for each batch. Records that the queue does not accept stay for the next attempt. */
  async function sendAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH);
      try {
        // The records are the JSON that the rows are made of; a date becomes its text.
        const records = batch as unknown as JsonObject[];
        await producer.enqueue(auditEntries, [{ batchID: newID(), records }], { timeoutMs: TIMEOUT_MS });
      } catch (error) {
        logger.warn({ err: error, waiting: waiting.length }, 'entries of the audit trail wait for the queue');
        return;
      }
      waiting = waiting.slice(batch.length);
    }
  }

  return {
    counts,
    async write(record) {
      await insert(record);
      counts.written += 1;
    },
    note(record) {
      counts.noted += 1;
      if (waiting.length >= MAX_WAITING) {
        counts.lost += 1;
        return;
      }
      waiting.push(record);
      if (waiting.length >= BATCH) send();
      else timer ??= setTimeout(send, flushMs).unref();
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await sending;
      await sendAll();
      clearTimeout(timer);
      // The queue cannot be reached: the process writes the rows itself.
      if (waiting.length > 0)
        await insertAuditRecords(pool, waiting).catch((error: unknown) =>
          logger.error({ err: error, lost: waiting.length }, 'entries of the audit trail are lost'),
        );
    },
  };
}
