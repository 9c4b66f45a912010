import type { z } from 'zod';
import { checkSeals, type SealCheck, type TrailRetention } from '#shared/access/audit/seals.ts';
import type { Pool } from '#shared/db/pool.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Verification, VerifyQuery } from './schemas.ts';

/** Seals that one statement checks. */
const BATCH = 200;

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

  async handle({ query, tenantID, signal }, { pool, config }) {
    const totals = { seals: 0, rows: 0 };
    const unsealedRows = await countUnsealed(pool, tenantID);
    const difference = query.number === undefined ? undefined : await differsFromStored(pool, tenantID, query);
    if (difference) return { isIntact: false, ...totals, unsealedRows, problem: difference };
    const problem = await findProblem(pool, { tenantID, retention: config.worker.retention, totals, signal });
    return { isIntact: !problem, ...totals, unsealedRows, problem: problem ?? null };
  },
});

type Problem = z.input<typeof Verification>['problem'];

interface Checking {
  tenantID: string;
  retention: TrailRetention;
  /** Counts what was checked. */
  totals: { seals: number; rows: number };
  signal: AbortSignal;
}

/** The first seal that does not match its rows, or the seal before it. */
async function findProblem(
  pool: Pool,
  { tenantID, retention, totals, signal }: Checking,
): Promise<Problem | undefined> {
  let before: Date | undefined;
  for (let after = 0; !signal.aborted; ) {
    const checked = await checkSeals(pool, { tenantID, after, limit: BATCH }, retention);
    for (const check of checked) {
      const { rowCount, isIntact, isRetired, newestAt } = check;
      totals.seals += isRetired ? 0 : 1;
      totals.rows += isRetired ? 0 : rowCount;
      if (!isIntact) return problemOf(check, before);
      before = newestAt;
    }
    const last = checked.at(-1);
    if (!last) break;
    after = last.number;
  }
  return undefined;
}

function problemOf({ number, isRetired, newestAt }: SealCheck, before: Date | undefined): Problem {
  const message = isRetired ? RETIRED_WRONGLY : CHANGED;
  return { number, message, from: before?.toISOString() ?? null, to: newestAt.toISOString() };
}

const CHANGED = 'The rows of this seal, or the seals before it, are not those that were sealed';
const RETIRED_WRONGLY =
  'Rows up to this seal were removed before they were as old as they are kept, or others were added there. A retention that the deployment has lengthened since looks the same';

async function countUnsealed(pool: Pool, tenantID: string): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::int as n from audit_record where tenant_id = $1
     and seq > coalesce((select max(to_seq) from audit_seal where tenant_id = $1), 0)`,
    [tenantID],
  );
  return rows[0]?.n ?? 0;
}

async function differsFromStored(
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
