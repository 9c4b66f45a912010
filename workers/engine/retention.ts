import type { Pool } from '#shared/db/pool.ts';
import { resumeSpreading } from '#shared/deployment-roles.ts';

/** Periods that are settings, in milliseconds. */
export interface Retention {
  runsMs: number;
  queryRunsMs: number;
  operatorAuditMs: number;
}

interface Kept {
  /** Days, or the setting with the period. */
  for: number | keyof Retention;
  /** SQL: whether a row is older than `$1` seconds. */
  old: string;
  /** Tables whose rows are deleted with it, by their `instance_id`. */
  with?: readonly string[];
}

/** Every table whose rows are deleted by age. `ops/guides/limits.md` says the same for administrators. */
export const retentions = {
  idempotency: { for: 0, old: since('expires_at') },
  ask_claim: { for: 0, old: since('expires_at') },
  ask_reply: { for: 0, old: since('expires_at') },
  query_cache: { for: 0, old: since('expires_at') },
  result_page: { for: 0, old: since('expires_at') },
  oauth_flow: { for: 0, old: since('expires_at') },
  // Milliseconds since 1970, as the library that counts writes them.
  rate_limit: { for: 0, old: 'expire < ((extract(epoch from now()) - $1) * 1000)::bigint' },
  worker_session: { for: 7, old: since('ended_at') },
  policy_change: { for: 7, old: since('created_at') },
  // As long as a network stays known to sign-in.
  operator_session: { for: 90, old: since('expires_at') },
  operator_audit: { for: 'operatorAuditMs', old: since('created_at') },
  query_run: { for: 'queryRunsMs', old: since('started_at') },
  workflow_instance: { for: 'runsMs', old: since('completed_at'), with: ['run_event', 'collection_request'] },
  workflow_version: {
    for: 'runsMs',
    old: `${since('created_at')}
      and not exists (select from workflow w where w.version_id = workflow_version.id)
      and not exists (select from workflow_instance i where i.version_id = workflow_version.id)`,
  },
} as const satisfies Record<string, Kept>;

function since(column: string): string {
  return `${column} < now() - make_interval(secs => $1)`;
}

const DAY_SECONDS = 86_400;
/** Rows deleted in a round; with each run go all its events. */
const BATCH = { alone: 5000, withOthers: 1000 };

/** One round of deleting old rows, and of finishing what was broken off. */
export async function retire(pool: Pool, settings: Retention): Promise<void> {
  for (const [table, kept] of Object.entries<Kept>(retentions)) {
    const seconds = typeof kept.for === 'number' ? kept.for * DAY_SECONDS : settings[kept.for] / 1000;
    await pool.query(deletionOf(table, kept), [seconds]);
  }
  await resumeSpreading(pool);
}

function deletionOf(table: string, { old, with: others = [] }: Kept): string {
  if (others.length === 0)
    return `delete from ${table} where ctid = any(array(select ctid from ${table} where ${old} limit ${BATCH.alone}))`;

  const deletions = others.map(
    (name) => `${name}_rows as (delete from ${name} where instance_id in (select id from old))`,
  );
  return `
with old as (select id from ${table} where ${old} limit ${BATCH.withOthers} for update skip locked),
${deletions.join(',\n')}
delete from ${table} where id in (select id from old)`;
}
