import { type AuditRecord, insertFrom } from '../access/audit/records.ts';
import { startEntryOf } from '../access/audit/run-starts.ts';
import { textOf } from '../concurrency/write-json.ts';
import type { Caller } from '../core/caller.ts';
import type { AppError } from '../core/errors.ts';
import { newID } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import { claimKey, type IdempotencyClaim, whenKeyIsFree } from '../db/idempotency.ts';
import { inTransaction, type Pool, type PoolClient } from '../db/pool.ts';
import { onClient } from '../db/query.ts';
import type { CompletionWebhook, RunClass, RunLimits } from '../workflow/limits.ts';
import type { TestMode } from '../workflow/test-mode.ts';
import { DIRECT, isWithheld, QUEUE_ID, WITHHELD_EXTENSION } from './dispatch/dispatch-window.ts';

export interface NewRun {
  /** Absent: generated when the run is accepted. */
  id?: string;
  tenantID: string;
  /** Null for the test of an unsaved graph. */
  workflowID: string | null;
  versionID: string;
  caller: Caller;
  input: JsonObject;
  /** Time limit from acceptance to the end, waits included. With `queueTimeoutMs` it counts from the start of the execution. */
  timeoutMs: number;
  /** Time limit from acceptance to the start of the execution; absent: only `timeoutMs` limits the run. */
  queueTimeoutMs?: number;
  isTest?: boolean;
  /** The mode of a test; absent: it is executed as any other run. */
  testMode?: TestMode;
  class?: RunClass;
  /** Seconds of head start over other runs of the same workflow and class. */
  priority?: number;
  /** Absent: no limits, so the run may be dispatched directly, past the queue. */
  limits?: RunLimits | undefined;
  /** The workflow that is started if the run fails; none after a test. */
  onFailure?: string;
  /** The receiver that is notified of the end of the run; none after a test. */
  completionWebhook?: CompletionWebhook;
  /** The channel of the process that waits for the end of the run. */
  awaitedBy?: string;
  /** Tags by which lists of runs can be filtered. */
  tags?: readonly string[];
  /** The time at which the run may begin, if later than now. Its time limit counts from then. */
  startAt?: Date;
  /** The batch that it belongs to. */
  batchID?: string;
  /** The run that it repeats. */
  rerunOf?: string;
  /** The tick of a cron job for which the run is executed. */
  cronTickID?: string;
  /** The entry of the audit trail for the request that has started it; written with the run. */
  entry?: AuditRecord;
}

export interface Accepted {
  id: string;
  tenantID: string;
  class: string;
  epoch: number;
  /** Priority of the job that the caller must add after the commit: the row says already that the run is dispatched. Null: the run is queued. */
  priority: number | null;
}

type Queryable = Pick<PoolClient, 'query'>;

/** Inserts runs, in order, and dispatches as many as the window has capacity for. */
export async function acceptRuns(on: Queryable, runs: readonly NewRun[]): Promise<Accepted[]> {
  const rows = toRows(runs);
  const inserted = await on.query<Pick<Accepted, 'id' | 'priority'>>(statementFor(ACCEPT, runs, rows));
  const byID = new Map(inserted.rows.map((row) => [row.id, row.priority]));
  return rows.map(({ id, tenant_id: tenantID, class: kind }) => ({
    id,
    tenantID,
    class: kind,
    epoch: 0,
    priority: byID.get(id) ?? null,
  }));
}

/** Inserts runs, in order, and dispatches none. Returns their ids. */
export async function insertRuns(on: Queryable, runs: readonly NewRun[]): Promise<string[]> {
  const rows = toRows(runs);
  const { text, values } = statementFor(INSERT_ALL, runs, rows);
  await on.query(text, values);
  return rows.map(({ id }) => id);
}

/** Chooses the statement that writes only the tables needed: few runs have tags or an entry of the audit trail. */
function statementFor(statements: Statements, runs: readonly NewRun[], rows: ReturnType<typeof toRows>) {
  const hasTags = runs.some(({ tags = [] }) => tags.length > 0);
  const entries = runs.flatMap((run, index) => startEntryOf(rows[index]?.id, run) ?? []);
  const statement = statements[hasTags ? 'tagged' : 'plain'][entries.length > 0 ? 'recorded' : 'silent'];
  return {
    ...statement,
    values: [`[${rows.map(rowText).join(',')}]`, ...(entries.length > 0 ? [JSON.stringify(entries)] : [])],
  };
}

/** A row as JSON. The input may be large, and was written when its bytes were counted. */
function rowText({ input, ...row }: ReturnType<typeof toRows>[number]): string {
  return `${JSON.stringify(row).slice(0, -1)},"input":${textOf(input)}}`;
}

interface Once {
  claim: IdempotencyClaim;
  /** The quota error that a first request gets. A repeated request gets the stored response nevertheless. */
  refusal?: AppError | undefined;
}

/** Writes the key and the run in one transaction. A second request with the key waits for the first, then reads its answer. */
export async function acceptOnce(pool: Pool, run: NewRun, { claim, refusal }: Once): Promise<Accepted> {
  const id = run.id ?? newID();
  const own = { status: 200, response: { instanceID: id } };
  let accepted: Accepted | undefined;
  const { response } = await whenKeyIsFree(claim, () =>
    inTransaction(pool, async (client) => {
      const claimed = await claimKey(onClient(client), run.tenantID, claim, own);
      if (claimed !== 'claimed') return claimed;
      if (refusal) throw refusal;
      [accepted] = await acceptRuns(client, [{ ...run, id }]);
      return own;
    }),
  );
  if (accepted) return accepted;
  const instanceID = String(response.instanceID);
  claim.onReplay();
  // If this fails, the waiting process still finds the end of the run when it polls Postgres.
  if (run.awaitedBy) await pool.query(AWAIT, [instanceID, run.tenantID, run.awaitedBy]).catch(() => undefined);
  return { id: instanceID, tenantID: run.tenantID, class: run.class ?? 'interactive', epoch: 0, priority: null };
}

function toRows(runs: readonly NewRun[]) {
  return runs.map((run, index) => ({
    n: index + 1,
    id: run.id ?? newID(),
    tenant_id: run.tenantID,
    workflow_id: run.workflowID,
    version_id: run.versionID,
    is_test: run.isTest ?? false,
    test_mode: run.testMode && Object.keys(run.testMode).length > 0 ? run.testMode : null,
    class: run.class ?? 'interactive',
    ...timesOf(run),
    caller: run.caller,
    input: run.input,
    awaited_by: run.awaitedBy ?? null,
    tags: run.tags ?? [],
    ...belonging(run),
    head_start: run.priority ?? 0,
    ...followers(run),
    ...limitColumns(run.limits),
  }));
}

/** Actions after the end of a run. Tests have no effect outside. */
function followers({ isTest, workflowID, onFailure, completionWebhook }: NewRun) {
  if (isTest) return { on_failure: null, completion_webhook: null };
  return { on_failure: onFailure ?? null, completion_webhook: (workflowID !== null && completionWebhook) || null };
}

/** The batch, re-run or tick to which the run belongs. */
function belonging({ batchID, rerunOf, cronTickID }: NewRun) {
  return { batch_id: batchID ?? null, rerun_of: rerunOf ?? null, cron_tick_id: cronTickID ?? null };
}

function timesOf({ timeoutMs, queueTimeoutMs, startAt }: NewRun) {
  return {
    timeout_s: timeoutMs / 1000,
    queue_s: queueTimeoutMs === undefined ? null : queueTimeoutMs / 1000,
    start_at: startAt ?? null,
  };
}

/** Splits limits into columns: the value of the concurrency key has a column of its own, by which other runs with the key are found. */
export function limitColumns({ key, ...limits }: RunLimits = {}) {
  const isLimited = key !== undefined || Object.keys(limits).length > 0;
  if (!isLimited) return { limits: null, concurrency_key: null };
  return {
    limits: { ...limits, ...(key && { key: { limit: key.limit, onLimit: key.onLimit } }) },
    concurrency_key: key?.value ?? null,
  };
}

const isLater = 'coalesce(r.start_at > now(), false)';

const ROWS_TO_INSERT = `
r as materialized (
  select *, not ${isLater} and ${isWithheld('r.tenant_id', 'coalesce(r.workflow_id, r.tenant_id)')} as is_withheld from jsonb_to_recordset($1::jsonb) as r(
    n int, id uuid, tenant_id uuid, workflow_id uuid, version_id uuid, is_test boolean, class text, timeout_s double precision, queue_s double precision, caller jsonb, input jsonb,
    test_mode jsonb, on_failure uuid, completion_webhook jsonb, awaited_by text, start_at timestamptz, batch_id uuid, rerun_of uuid, cron_tick_id uuid, head_start int, limits jsonb, concurrency_key text)
)`;

// A run that begins later gets a `wake_at`: the sweep wakes it then, as it wakes a run whose wait is over.
const insert = (direct: string, dispatchedAt: string) => `
insert into workflow_instance (
  id, tenant_id, creator_id, workflow_id, version_id, is_test, test_mode, class, ready_at, kept_since, dispatched_at, wake_at, start_at, deadline_at, run_limit, caller, input, awaited_by, on_failure,
  completion_webhook, batch_id, rerun_of, cron_tick_id, head_start, limits, concurrency_key, held_keys)
select r.id, r.tenant_id, (select creator_id from tenant t where t.id = r.tenant_id), r.workflow_id, r.version_id, r.is_test, r.test_mode, r.class,
  case when not ${isLater} and not r.is_withheld then now() end, case when r.is_withheld then now() end, ${dispatchedAt},
  case when ${isLater} then r.start_at end, r.start_at,
  greatest(r.start_at, now()) + make_interval(secs => coalesce(r.queue_s, r.timeout_s)) + case when r.is_withheld then ${WITHHELD_EXTENSION} else '0' end,
  case when r.queue_s is not null then make_interval(secs => r.timeout_s) end, r.caller, r.input, r.awaited_by, r.on_failure,
  r.completion_webhook, r.batch_id, r.rerun_of, r.cron_tick_id, r.head_start, r.limits, r.concurrency_key, case when r.concurrency_key is not null then array[r.concurrency_key] end
from r ${direct}order by r.n`;

const TAGGED = `tagged as (
  insert into run_tag (instance_id, tag, tenant_id)
  select r.id, t.tag, r.tenant_id
  from jsonb_to_recordset($1::jsonb) as r(id uuid, tenant_id uuid, tags jsonb), jsonb_array_elements_text(r.tags) as t(tag)
  on conflict do nothing)`;

// One statement accepts and dispatches: a second one would lock and write the row again.
const accept = (moreCTEs = '') => `
with ${ROWS_TO_INSERT},
candidate as (select n, id, tenant_id, ${QUEUE_ID} as queue_id, class, limits is null and not is_withheld and not ${isLater} as may_go_direct from r),
${DIRECT},
${moreCTEs}inserted as (${insert('left join direct on direct.id = r.id ', 'case when direct.id is not null then now() end')} returning id)
select inserted.id, direct.priority from inserted left join direct on direct.id = inserted.id`;
const RECORDED = `recorded as (${insertFrom('$2::jsonb')}),
`;
const TAGS = `${TAGGED},
`;

type Statements = Record<'plain' | 'tagged', Record<'silent' | 'recorded', { name?: string; text: string }>>;

const ACCEPT: Statements = {
  plain: {
    silent: { name: 'accept_runs', text: accept() },
    recorded: { name: 'accept_recorded_runs', text: accept(RECORDED) },
  },
  tagged: {
    silent: { name: 'accept_tagged_runs', text: accept(TAGS) },
    recorded: { name: 'accept_recorded_tagged_runs', text: accept(TAGS + RECORDED) },
  },
};

const insertAll = (moreCTEs = '') => `
with ${ROWS_TO_INSERT},
${moreCTEs}inserted as (${insert('', 'null::timestamptz')}) select`;
const INSERT_ALL: Statements = {
  plain: { silent: { text: insertAll() }, recorded: { text: insertAll(RECORDED) } },
  tagged: { silent: { text: insertAll(TAGS) }, recorded: { text: insertAll(TAGS + RECORDED) } },
};

// Overwrites the channel of an earlier request with the key. If that request still waits, in another process, it notices the end within
// a second, because it also polls.
const AWAIT = `
update workflow_instance set awaited_by = $3 where id = $1 and tenant_id = $2 and completed_at is null`;
