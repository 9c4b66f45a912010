/** Periods that are settings, in milliseconds. */
export interface Retention {
  runsMs: number;
  /** The most that a tenant may set for its own runs. */
  maxRunsMs: number;
  queryRunsMs: number;
  operatorAuditMs: number;
}

interface TableRetention {
  /** Name of the table; absent if it is the key of the entry. */
  table?: string;
  /** Days, or the setting with the period. */
  for: number | Exclude<keyof Retention, 'maxRunsMs'>;
  /** SQL: whether a row is older than `$1` seconds. */
  old: string;
}

/** Tables whose rows are deleted with a run, by their `instance_id`. */
export const ofRuns = [
  'run_event',
  'run_log',
  'run_failure',
  'run_delivery',
  'run_checkpoint',
  'run_tag',
  'collection_request',
  'event_wait',
  'run_map',
] as const;

/** Every table whose rows are deleted by age. `ops/guides/limits.md` says the same for administrators. */
export const retentions = {
  idempotency: { for: 0, old: since('expires_at') },
  ask_claim: { for: 0, old: since('expires_at') },
  ask_reply: { for: 0, old: since('expires_at') },
  query_cache: { for: 0, old: since('expires_at') },
  result_page: { for: 0, old: since('expires_at') },
  oauth_flow: { for: 0, old: since('expires_at') },
  // Longer than a revocation is attempted; such old rows exist only if no worker was running.
  oauth_revocation: { for: 7, old: since('created_at') },
  // The library of the rate limits writes `expire` in milliseconds since 1970.
  rate_limit: { for: 0, old: 'expire < ((extract(epoch from now()) - $1) * 1000)::bigint' },
  worker_session: { for: 7, old: since('ended_at') },
  policy_change: { for: 7, old: since('created_at') },
  // As long as sign-in recognizes a network from which an operator has signed in.
  operator_session: { for: 90, old: since('expires_at') },
  operator_audit: { for: 'operatorAuditMs', old: since('created_at') },
  query_run: { for: 'queryRunsMs', old: since('started_at') },
  // Runs that no other run has started; those that they have started go with them. See `retireRunsByAge`.
  workflow_instance: { for: 'runsMs', old: since('completed_at') },
  test_run: { table: 'workflow_instance', for: 3, old: `is_test and ${since('completed_at')}` },
  workflow_event: {
    for: 0,
    // An event stays until the runs that it has reached have read it.
    old: `is_told and ${since('remembered_until')}
      and (
        select true from event_wait w join run_wait r on r.ref = w.id where w.event_id = workflow_event.id limit 1) is null`,
  },
  // `expires_at` is set when an event is finished, by its outcome.
  listener_event: { for: 0, old: since('expires_at') },
  listener_buffer: { for: 0, old: since('expires_at') },
  listener_refusal: { for: 0, old: since('expires_at') },
  // A claim is kept for dead letters with its key: see `FORGET_DEDUP`.
  listener_dedup: { for: 0, old: since('greatest(expires_at, kept_until)') },
  // Longer than the period that a quota counts.
  listener_usage: { for: 8, old: since('day') },
  cron_backfill: {
    for: 'runsMs',
    old: `${since('created_at')} and (select true from cron_tick t where t.backfill_id = cron_backfill.id limit 1) is null`,
  },
  cron_tick: { for: 'runsMs', old: `status <> 'SCHEDULED' and ${since('created_at')}` },
  run_batch: {
    for: 'runsMs',
    old: `${since('created_at')} and (select true from workflow_instance i where i.batch_id = run_batch.id limit 1) is null`,
  },
  workflow_version: {
    for: 'runsMs',
    // Subqueries for each version, because a join could read every workflow. Runs have no index by version, which every step of every run
    // would pay for, so they are found by time: a run was created before its version was superseded (an execution by the version's id sets
    // that time anew), and a test run soon after its version.
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
  asset_change: { for: 0, old: since('expires_at') },
  // Longer than the month whose tokens are counted.
  ai_call: { for: 62, old: since('started_at') },
  ai_usage: { for: 400, old: since('updated_at') },
  // Deleted with its messages, answers and chunks.
  ai_session: { for: 90, old: since('updated_at') },
  // Deleted with its chunks, which only readers during the answer need: its text is stored as a message.
  ai_answer: { for: 2, old: since('ended_at') },
  // Calls of chats are deleted with their session, or before it.
  ai_tool_call: { for: 90, old: since('created_at') },
  notification: { for: 90, old: since('created_at') },
  // Sessions, codes and tokens of the built-in sign-in, and its links.
  sign_in_record: { for: 0, old: since('expires_at') },
  sign_in_link: { for: 0, old: since('expires_at') },
  sign_in_audit: { for: 'operatorAuditMs', old: since('created_at') },
} as const satisfies Record<string, TableRetention>;

function since(column: string): string {
  return `${column} < now() - make_interval(secs => $1)`;
}

const DAY_SECONDS = 86_400;

/** A statement deletes at most this many rows, or runs with all their events. Short, so that no lock is held for long. */
export const BATCH = { alone: 2_000, withOthers: 250 };

/** Age in seconds from which rows of the table are old. */
export function secondsOf(table: keyof typeof retentions, settings: Retention): number {
  const retention: TableRetention = retentions[table];
  return typeof retention.for === 'number' ? retention.for * DAY_SECONDS : settings[retention.for] / 1000;
}

/** The first key of the advisory locks of retention; the second is the index of the entry. */
export const LOCK = 7_265_004;

/** Deletes a batch, or nothing while another process deletes from the table. `$1` is the age in seconds. */
export function deletionOf(table: keyof typeof retentions): string {
  const { old, table: name = table }: TableRetention = retentions[table];
  const index = Object.keys(retentions).indexOf(table);
  // A subquery is computed once, before the table is read.
  return `delete from ${name} where ctid = any((select case when pg_try_advisory_xact_lock(${LOCK}, ${index}) then array(
select ctid from ${name} where ${old} limit ${BATCH.alone} for update skip locked) end)::tid[])`;
}
