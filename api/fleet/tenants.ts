import type { Pool } from '#shared/db/pool.ts';
import { containing } from '../http/fields/paging.ts';
import type { BacklogRow } from './backlog.ts';

const SHOWN = 50;
const FOUND = 20;

export interface TenantRow {
  tenantID: string;
  tenantTitle: string | null;
  waiting: number;
  oldest: Date;
  isCut: boolean;
  /** Runs that workers have, and how many they may have. */
  running: number;
  maxRuns: number | null;
  pausedAt: Date | null;
}

/** The tenants that wait longest. */
export async function readTenants(pool: Pool, backlog: readonly BacklogRow[]): Promise<TenantRow[]> {
  const waiting = byTenant(backlog).slice(0, SHOWN);
  const { rows } = await pool.query<Named>(NAMED, [waiting.map(({ tenantID }) => tenantID)]);
  const named = new Map(rows.map((row) => [row.tenantID, row]));
  return waiting.map((row) => ({ ...unnamed, ...named.get(row.tenantID), ...row }));
}

export async function findTenant(pool: Pool, tenantID: string): Promise<Named | undefined> {
  return (await pool.query<Named>(NAMED, [[tenantID]])).rows[0];
}

/** The first tenants by title, of those whose title contains the text. */
export async function findTenants(pool: Pool, search: string): Promise<Named[]> {
  const { $ilike: pattern } = containing(search);
  const { rows } = await pool.query<{ id: string }>(
    `select id from tenant where tenant_title ilike $1 order by tenant_title, id limit ${FOUND}`,
    [pattern],
  );
  return (await pool.query<Named>(`${NAMED} order by t.tenant_title, t.id`, [rows.map(({ id }) => id)])).rows;
}

function byTenant(backlog: readonly BacklogRow[]) {
  const found = new Map<string, Pick<TenantRow, 'tenantID' | 'waiting' | 'oldest' | 'isCut'>>();
  for (const { tenantID, count, oldest, isCut } of backlog) {
    if (tenantID === null) continue;
    const known = found.get(tenantID) ?? { tenantID, waiting: 0, oldest, isCut: false };
    found.set(tenantID, {
      tenantID,
      waiting: known.waiting + count,
      oldest: new Date(Math.min(oldest.getTime(), known.oldest.getTime())),
      isCut: known.isCut || isCut,
    });
  }
  return [...found.values()].toSorted((one, other) => one.oldest.getTime() - other.oldest.getTime());
}

const unnamed = { tenantTitle: null, running: 0, maxRuns: null, pausedAt: null };
export type Named = Pick<TenantRow, 'tenantID' | keyof typeof unnamed>;

// The subquery reads few rows: workers have no more runs than they have slots.
const NAMED = `
select t.id as "tenantID", t.tenant_title as "tenantTitle", t.paused_at as "pausedAt", d.max_runs as "maxRuns", coalesce(held.n, 0)::int as running
from tenant t
left join tenant_dispatch d on d.tenant_id = t.id
left join (select tenant_id, count(*) as n from workflow_instance where held_by is not null group by tenant_id) held on held.tenant_id = t.id
where t.id = any($1::uuid[])`;
