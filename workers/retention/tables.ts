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
  workflow_instance: {
    for: 'runsMs',
    // A chunk of a map is kept for as long as its run goes on, which reads its results.
    old: `${since('completed_at')} and case when map_id is null then true else
      (select case when p.completed_at is null then true end from workflow_instance p where p.id = workflow_instance.parent_id) is null end`,
    with: [
      'run_event',
      'run_log',
      'run_failure',
      'run_checkpoint',
      'run_tag',
      'collection_request',
      'event_wait',
      'run_map',
    ],
  },
  workflow_event: {
    for: 0,
    // A run that it has reached reads it when a worker has the run.
    old: `is_told and ${since('remembered_until')}
      and (
        select true from event_wait w join run_wait r on r.ref = w.id where w.event_id = workflow_event.id limit 1) is null`,
  },
  run_batch: {
    for: 'runsMs',
    old: `${since('created_at')} and (select true from workflow_instance i where i.batch_id = run_batch.id limit 1) is null`,
  },
  workflow_version: {
    for: 'runsMs',
    // Looked up for each version: a join could read every workflow. Without an index of runs by version, which every step of every run would pay for: a run of a workflow's version was created
    // before another was published, or before the time that executing it by name begins again, and the run of a test right after its version.
    old: `${since('superseded_at')}
      and (
        select true from workflow w where w.id = workflow_version.workflow_id and (
          w.version_id = workflow_version.id or workflow_version.label is not null
          or (select max(v.number) from workflow_version v where v.workflow_id = w.id) = workflow_version.number)
      ) is null
      and (
        select true from workflow_instance i
        where i.tenant_id = workflow_version.tenant_id and i.workflow_id = workflow_version.workflow_id
          and i.created_at < workflow_version.superseded_at + interval '1 hour' limit 1) is null
      and (
        select true from workflow_instance i
        where i.tenant_id = workflow_version.tenant_id and i.version_id = workflow_version.id
          and i.created_at between workflow_version.created_at - interval '1 minute' and workflow_version.created_at + interval '1 hour'
        limit 1) is null`,
  },
} as const satisfies Record<string, Kept>;

function since(column: string): string {
  return `${column} < now() - make_interval(secs => $1)`;
}

const DAY_SECONDS = 86_400;

/** A statement deletes at most this many rows, or runs with all their events. Short, so that no lock is held for long. */
export const BATCH = { alone: 2_000, withOthers: 250 };

/** How many rows of the table a batch deletes at most. */
export function batchOf(table: keyof typeof retentions): number {
  const kept: Kept = retentions[table];
  return kept.with ? BATCH.withOthers : BATCH.alone;
}

/** Age in seconds from which rows of the table are old. */
export function secondsOf(table: keyof typeof retentions, settings: Retention): number {
  const kept: Kept = retentions[table];
  return typeof kept.for === 'number' ? kept.for * DAY_SECONDS : settings[kept.for] / 1000;
}

/** Deletes a batch, oldest first. `$1` is the age in seconds. */
export function deletionOf(table: keyof typeof retentions): string {
  const { old, with: others = [] }: Kept = retentions[table];
  if (others.length === 0)
    return `delete from ${table} where ctid = any(array(
select ctid from ${table} where ${old} limit ${BATCH.alone} for update skip locked))`;

  const deletions = others.map(
    // As an array, for which the planner takes the index also of an empty table, whose size it guesses.
    (name) => `${name}_rows as (delete from ${name} where instance_id = any(array(select id from old)))`,
  );
  return `
with old as materialized (select id from ${table} where ${old} limit ${BATCH.withOthers} for update skip locked),
${deletions.join(',\n')}
delete from ${table} where id in (select id from old)`;
}
