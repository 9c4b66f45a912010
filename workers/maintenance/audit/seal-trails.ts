import { setTimeout as sleep } from 'node:timers/promises';
import { sealNext } from '#shared/access/audit/seals.ts';
import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import type { Logger } from '#shared/core/logger.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';

/** Rows are sealed when they are so old. */
const AGE_MS = 10_000;

interface Needs {
  pool: Pool;
  /** Whether this process leads: others have nothing to do. */
  leads(): boolean;
  logger: Logger;
  ageMs?: number;
}

/** Last number of the trail at a moment, and the first transaction id that was not given yet. */
interface Mark {
  seq: string;
  xid: string;
}

/**
 * Seals the audit trails of all tenants. A row gets its number before its transaction commits. So trails are sealed up to a number only
 * when every transaction that was under way when the number was given has ended: no later commit can add a row below a seal.
 */
export function createTrailSeals({ pool, leads, logger, ageMs = AGE_MS }: Needs): AsyncDisposable {
  let mark: Mark | undefined;
  let isStopping = false;
  const task = startPeriodicTask(
    {
      name: 'seal audit trails',
      everyMs: ageMs,
      async run() {
        if (!leads()) {
          mark = undefined;
          return;
        }
        mark = await sealTo(mark);
      },
    },
    logger,
  );

  return {
    async [Symbol.asyncDispose]() {
      isStopping = true;
      await task[Symbol.asyncDispose]();
    },
  };

  /** Seals up to the mark if its transactions have ended, and sets the next one. */
  async function sealTo(known: Mark | undefined): Promise<Mark | undefined> {
    if (known && !(await haveEnded(known))) return known;
    if (known && !(await sealAll(known))) return known;
    const { rows } = await pool.query<Mark>(MARK);
    return rows[0];
  }

  /**
   * Seals up to the mark in one go, so that the rows of one busy tenant delay those of others for seconds only. Rests after each
   * statement for as long as it took. False if it was stopped before.
   */
  async function sealAll({ seq }: Mark): Promise<boolean> {
    for (let isDone = false; !isDone; ) {
      if (isStopping || !leads()) return false;
      const began = performance.now();
      const sealed = await inTransaction(pool, (client) => sealNext(client, seq));
      // Logged, because an attacker who rewrites the trail would have to rewrite a log that is stored elsewhere, too.
      for (const { tenantID, number, hash } of sealed.seals)
        logger.info({ tenantID, number, hash }, 'audit trail sealed');
      isDone = sealed.isDone;
      if (!isDone) await sleep(performance.now() - began);
    }
    return true;
  }

  async function haveEnded({ xid }: Mark): Promise<boolean> {
    const { rows } = await pool.query<{ ended: boolean }>(
      'select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as ended',
      [xid],
    );
    return rows[0]?.ended ?? false;
  }
}

const MARK = `
select max(seq)::text as seq, pg_snapshot_xmax(pg_current_snapshot())::text as xid
from audit_record where seq > (select sealed_to from audit_progress) having max(seq) is not null`;
