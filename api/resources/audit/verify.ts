import type { z } from 'zod';
import { checkSeals } from '#shared/audit/seals.ts';
import type { Pool } from '#shared/db/pool.ts';
import { tenantRoute } from '../../http/route.ts';
import { Verification, VerifyQuery } from './schemas.ts';

/** Seals that one statement checks. */
const PORTION = 200;

export const verifyAuditTrail = tenantRoute({
  name: 'verifyAuditTrail',
  method: 'get',
  path: '/audit/verify',
  summary: 'Verify the audit trail',
  description:
    'Checks every seal against its rows and the seal before it: a row that was changed, removed, added or moved is found. With `number` and `hash` of a seal that was kept elsewhere, also that the trail still has it.',
  permission: 'audit.list',
  query: VerifyQuery,
  response: Verification,

  async handle({ query, tenantID, signal }, { pool }) {
    const totals = { seals: 0, rows: 0 };
    const unsealedRows = await countUnsealed(pool, tenantID);
    const strange = query.number === undefined ? undefined : await differsFromKept(pool, tenantID, query);
    if (strange) return { isIntact: false, ...totals, unsealedRows, problem: strange };
    let before: Date | null = null;
    for (let after = 0; !signal.aborted; ) {
      const checked = await checkSeals(pool, tenantID, after, PORTION);
      for (const { number, rowCount, isIntact, newestAt } of checked) {
        totals.seals += 1;
        totals.rows += rowCount;
        const message = 'The rows of this seal, or the seals before it, are not those that were sealed';
        const problem = { number, message, from: before?.toISOString() ?? null, to: newestAt.toISOString() };
        if (!isIntact) return { isIntact: false, ...totals, unsealedRows, problem };
        before = newestAt;
      }
      after = checked.at(-1)?.number ?? after;
      if (checked.length === 0) break;
    }
    return { isIntact: true, ...totals, unsealedRows, problem: null };
  },
});

async function countUnsealed(pool: Pool, tenantID: string): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::int as n from audit_record where tenant_id = $1
     and seq > coalesce((select max(to_seq) from audit_seal where tenant_id = $1), 0)`,
    [tenantID],
  );
  return rows[0]?.n ?? 0;
}

type Problem = z.input<typeof Verification>['problem'];

async function differsFromKept(
  pool: Pool,
  tenantID: string,
  { number = 0, hash }: z.output<typeof VerifyQuery>,
): Promise<Problem | undefined> {
  const { rows } = await pool.query<{ hash: string }>(
    `select encode(hash, 'hex') as hash from audit_seal where tenant_id = $1 and number = $2`,
    [tenantID, number],
  );
  if (rows[0]?.hash === hash) return undefined;
  const message = rows[0]
    ? 'The trail has another seal with this number: it was written anew'
    : 'The trail has no seal with this number: it was removed, or was older than entries are kept';
  return { number, message, from: null, to: null };
}
