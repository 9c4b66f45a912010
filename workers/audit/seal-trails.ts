import { sealUpTo } from '#shared/audit/seals.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { keep } from '#shared/keep.ts';
import type { Logger } from '#shared/logger.ts';

/** Rows are sealed when they are so old. */
const AGE_MS = 10_000;
/** Rows that one statement seals. */
const MAX_ROWS = 20_000;

interface Needs {
  pool: Pool;
  /** Whether this process leads: others have nothing to do. */
  leads(): boolean;
  logger: Logger;
  ageMs?: number;
}

/** How far the trail was at a moment, and the first transaction that had not begun then. */
interface Mark {
  seq: string;
  xid: string;
}

/**
 * Seals the audit trails of all tenants. A row gets its number before its transaction commits, so a number is passed only when every
 * transaction that was under way as it was given has ended: neither a clock nor a slow transaction can slip a row below a seal.
 */
export function createTrailSeals({ pool, leads, logger, ageMs = AGE_MS }: Needs): AsyncDisposable {
  let mark: Mark | undefined;
  return keep(
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

  /** Seals up to the mark if its transactions have ended, and sets the next one. */
  async function sealTo(known: Mark | undefined): Promise<Mark | undefined> {
    if (known && !(await haveEnded(known))) return known;
    if (known) {
      const sealed = await inTransaction(pool, (client) => sealUpTo(client, known.seq));
      // For a log that is kept elsewhere, which an attacker who rewrites the trail would have to rewrite too.
      for (const { tenantID, number, hash } of sealed) logger.info({ tenantID, number, hash }, 'audit trail sealed');
    }
    const { rows } = await pool.query<Mark>(MARK);
    return rows[0];
  }

  async function haveEnded({ xid }: Mark): Promise<boolean> {
    const { rows } = await pool.query<{ ended: boolean }>(
      'select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as ended',
      [xid],
    );
    return rows[0]?.ended ?? false;
  }
}

// Not more at once than a statement takes, beginning with the oldest.
const MARK = `
select max(seq)::text as seq, pg_snapshot_xmax(pg_current_snapshot())::text as xid from (
  select seq from audit_record where seq > (select sealed_to from audit_progress) order by seq limit ${MAX_ROWS}) as open
having max(seq) is not null`;
