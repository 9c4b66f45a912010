import { setTimeout as sleep } from 'node:timers/promises';
import type { TrailRetention } from '#shared/access/audit/seals.ts';
import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';

interface Needs {
  pool: Pool;
  settings: TrailRetention;
  leads(): boolean;
  logger: Logger;
  everyMs?: number;
}

/** Rows that one statement deletes; the rows of its last seal may exceed this number. */
const BATCH = 2_000;

/**
 * Deletes sealed entries that are older than the retention of their tenant, with their seals. The last of these seals stays, without
 * entries: the seal after it continues its hash and its number.
 */
export function createTrailRetention({ pool, settings, leads, logger, everyMs = 60_000 }: Needs): AsyncDisposable {
  let isStopping = false;
  const step = { name: 'retention of audit trails', everyMs, firstAfterMs: 1 + Math.random() * everyMs, run };
  const task = startPeriodicTask(step, logger);

  /** Rests after each batch for as long as it took. */
  async function run(): Promise<void> {
    if (!leads()) return;
    for (let deleted = 1; deleted > 0 && !isStopping; ) {
      const began = performance.now();
      deleted = await retireTrails(pool, settings);
      if (deleted > 0) await sleep(performance.now() - began);
    }
  }

  return {
    async [Symbol.asyncDispose]() {
      isStopping = true;
      await task[Symbol.asyncDispose]();
    },
  };
}

/** Deletes the oldest seals with their rows. Returns how many seals it retired. */
export async function retireTrails(
  pool: Pick<Pool, 'query'>,
  { auditMs, minAuditMs, maxAuditMs }: TrailRetention,
): Promise<number> {
  const { rows } = await pool.query<{ n: number }>({
    name: 'retire_audit_trails',
    text: RETIRE,
    values: [auditMs / 1000, minAuditMs / 1000, maxAuditMs / 1000],
  });
  return rows[0]?.n ?? 0;
}

// Entries without a tenant, written while it was deleted, are deleted at once. Seals are deleted with all of their rows: a seal that
// lacks rows would look like one that was tampered with.
const RETIRE = `
with old as materialized (
  select s.tenant_id, s.number, s.from_seq, s.to_seq, t.id is null as has_no_tenant,
    sum(s.row_count) over (order by s.newest_at, s.tenant_id, s.number) - s.row_count as before
  from audit_seal s left join tenant t on t.id = s.tenant_id
  where t.id is null
    or s.retired_at is null and s.newest_at < now() - make_interval(secs => least(greatest(coalesce(t.audit_days * 86400::float8, $1::float8), $2::float8), $3::float8))
  order by s.newest_at, s.tenant_id, s.number limit 200
),
gone as (
  delete from audit_record r using old
  where old.before < ${BATCH} and r.tenant_id = old.tenant_id and r.seq > old.from_seq and r.seq <= old.to_seq
),
last as (
  select tenant_id, has_no_tenant, max(number) as number from old where before < ${BATCH} group by tenant_id, has_no_tenant
),
retired as (
  update audit_seal s set retired_at = now(), previous_hash = (
    select p.hash from audit_seal p where p.tenant_id = s.tenant_id and p.number = s.number - 1)
  from last where s.tenant_id = last.tenant_id and s.number = last.number and not last.has_no_tenant
),
ended as (
  delete from audit_seal s using last
  where s.tenant_id = last.tenant_id and (s.number < last.number or last.has_no_tenant and s.number = last.number)
)
select count(*)::int as n from old where before < ${BATCH}`;
