import { FIRST_ID } from '#shared/core/ids.ts';
import type { Pool, PoolClient } from '#shared/db/pool.ts';
import { QUEUE_ID } from '#shared/runs/dispatch/dispatch-window.ts';
import { BATCH, ofRuns, type Retention, retentions, secondsOf } from './tables.ts';

/** Runs that one statement reads to find old ones. */
const SLICE = 1_000;
/** Workflows of a tenant with a rule of its own that one visit examines. */
const MAX_QUEUES = 20;
/** Runs of each of these workflows that one visit deletes. */
const PER_QUEUE = 50;
/** Tenants that take turns. */
const TENANTS = 100;
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const DAY_SECONDS = 86_400;
/** Interval at which a worker begins with the oldest runs again, and passes over those that are retained longer. */
const PASS_MS = 3_600_000;

/** Entries that delete runs: by the age that the deployment sets, and by the rules of tenants. */
export type RunsEntry = 'workflow_instance' | 'test_run' | 'run_retention';

interface Needs {
  settings: Retention;
  /** Runs a batch on a connection of its own; undefined while another worker deletes. */
  underLock<T>(work: (client: PoolClient) => Promise<T>): Promise<T | undefined>;
}

/** Position of a worker: ended runs up to it are deleted, or retained by a rule of their tenant. */
export interface Looked {
  upTo: string;
  passedAt: number;
}

export const fromTheOldest = (): Looked => ({ upTo: '-infinity', passedAt: Date.now() });

/**
 * Deletes runs older than the deployment retains them, oldest first. Each statement reads 1,000 runs at most, however many older ones
 * are retained longer: the next round continues after them, and once an hour begins with the oldest again.
 */
export async function retireRunsByAge(
  table: 'workflow_instance' | 'test_run',
  looked: Looked,
  { settings, underLock }: Needs,
): Promise<number> {
  if (Date.now() - looked.passedAt > PASS_MS) Object.assign(looked, fromTheOldest());
  const find = findByAge(table);
  const seconds = secondsOf(table, settings);
  for (let sum = 0; ; ) {
    const batch = await underLock(async (client) => {
      const { rows } = await client.query<{ id: string; at: string; is_old: boolean }>(find, [seconds, looked.upTo]);
      const old = rows.filter(({ is_old }) => is_old).map(({ id }) => id);
      const deleted = await deleteFamilies(client, old);
      looked.upTo = rows.at(-1)?.at ?? looked.upTo;
      return { deleted, isEnd: rows.length < SLICE };
    });
    sum += batch?.deleted ?? 0;
    if (!batch || batch.isEnd) return sum;
  }
}

/** Deletes runs by the age or the number that their tenants have set. The tenants take turns: a visit deletes a batch of each. */
export async function retireRunsByRule({ settings, underLock }: Needs): Promise<number> {
  const maxSeconds = settings.maxRunsMs / 1000;
  let sum = 0;
  let after = FIRST_ID;
  for (;;) {
    const tenants = await underLock(async (client) => (await client.query<{ id: string }>(RULED, [after])).rows);
    if (!tenants) return sum;
    let remaining: Visited[] = tenants.map(({ id }) => ({ id, upTo: FIRST_ID, again: false }));
    while (remaining.length > 0) {
      for (const tenant of remaining) {
        const deleted = await underLock((client) => visit(client, tenant, maxSeconds));
        if (deleted === undefined) return sum;
        sum += deleted;
      }
      remaining = remaining.filter(({ upTo }) => upTo !== LAST_ID);
    }
    after = tenants.at(-1)?.id ?? LAST_ID;
    if (tenants.length < TENANTS) return sum;
  }
}

interface Visited {
  id: string;
  /** Id of the last workflow that was examined. */
  upTo: string;
  /** Whether a workflow has more old runs than one visit deletes. */
  again: boolean;
}

async function visit(client: PoolClient, tenant: Visited, maxSeconds: number): Promise<number> {
  const { rows } = await client.query<{ line: string; ids: string[] }>(FIND_BY_RULE, [
    tenant.id,
    tenant.upTo,
    maxSeconds,
  ]);
  const old = rows.flatMap(({ ids }) => ids);
  // Noted before the deletion, so that the accounting never calls a period complete some of whose runs are deleted.
  if (old.length > 0) await client.query(NOTE_DELETION, [tenant.id, old]);
  const deleted = await deleteFamilies(client, old);
  tenant.again ||= deleted > 0 && rows.some(({ ids }) => ids.length >= PER_QUEUE);
  const isEnd = rows.length < MAX_QUEUES;
  tenant.upTo = isEnd ? (tenant.again ? FIRST_ID : LAST_ID) : (rows.at(-1)?.line ?? LAST_ID);
  if (isEnd) tenant.again = false;
  return deleted;
}

/** Deletes runs with all runs that they have started, children first. A run stays if one that it has started has not ended. */
async function deleteFamilies(client: PoolClient, ids: readonly string[]): Promise<number> {
  let deleted = 0;
  for (let at = 0; at < ids.length; at += BATCH.withOthers)
    deleted += (await deleteTree(client, ids.slice(at, at + BATCH.withOthers))).deleted;
  return deleted;
}

async function deleteTree(
  client: PoolClient,
  ids: readonly string[],
): Promise<{ deleted: number; retained: ReadonlySet<string> }> {
  const retained = new Set<string>();
  const retainedChildren = new Set<string>();
  let deleted = 0;
  for (;;) {
    const { rows: children } = await client.query<{ id: string; parent_id: string; is_open: boolean }>(CHILDREN, [
      ids,
      [...retainedChildren],
    ]);
    if (children.length === 0) break;
    const ended = children.filter(({ is_open }) => !is_open).map(({ id }) => id);
    const below = ended.length > 0 ? await deleteTree(client, ended) : { deleted: 0, retained: new Set<string>() };
    deleted += below.deleted;
    for (const { id, parent_id, is_open } of children)
      if (is_open || below.retained.has(id)) {
        retainedChildren.add(id);
        retained.add(parent_id);
      }
  }
  const old = ids.filter((id) => !retained.has(id));
  if (old.length > 0) deleted += (await client.query(DELETE_RUNS, [old])).rowCount ?? 0;
  return { deleted, retained };
}

const ENDED = 'case when completed_at is not null and parent_id is null and not is_test then true else false end';

/** Finds old runs, also those whose parent does not exist any more. `$1` is the age in seconds, `$2` where the last statement ended. */
export const findByAge = (table: 'workflow_instance' | 'test_run') => `
with slice as materialized (
  select id, tenant_id, workflow_id, parent_id, is_test, completed_at from workflow_instance
  where ${retentions[table].old} and completed_at > $2::timestamptz order by completed_at fetch first ${SLICE} rows with ties
)
select id, completed_at::text as at,
  case when parent_id is not null then (select true from workflow_instance p where p.id = s.parent_id) is null
    else is_test or (
      select true from run_retention r
      where r.tenant_id = s.tenant_id and (r.workflow_id is null or r.workflow_id = s.workflow_id) and r.days is not null limit 1) is null
  end as is_old
from slice s order by completed_at`;

const RULED = `
with recursive ruled as (
  select 1 as n, (select tenant_id from run_retention where tenant_id > $1::uuid order by tenant_id limit 1) as id
  union all
  select n + 1, (select tenant_id from run_retention where tenant_id > ruled.id order by tenant_id limit 1)
  from ruled where id is not null and n < ${TENANTS}
)
select id from ruled where id is not null`;

const nextQueue = (after: string) => `
(select ${QUEUE_ID} from workflow_instance where tenant_id = $1::uuid and ${ENDED} and ${QUEUE_ID} > ${after} order by ${QUEUE_ID} limit 1)`;

// Age and number are limited by separate queries: either may be unset, and each needs another order.
const inQueue = `select id from workflow_instance i where i.tenant_id = $1::uuid and ${QUEUE_ID} = rule.line and ${ENDED}`;

/** Finds the next workflows of the tenant `$1` after `$2`, each with old runs. `$3` is the longest period in seconds. */
export const FIND_BY_RULE = `
with recursive lines as (
  select 1 as n, ${nextQueue('$2::uuid')} as line
  union all
  select n + 1, ${nextQueue('lines.line')} from lines where line is not null and n < ${MAX_QUEUES}
)
select line, array(
  select id from (
    (${inQueue} and rule.days is not null and completed_at < now() - make_interval(secs => least(rule.days * ${DAY_SECONDS}::float8, $3::float8))
     order by completed_at, id limit ${PER_QUEUE})
    union
    (${inQueue} and rule.runs is not null order by completed_at desc, id desc offset coalesce(rule.runs, 0) limit ${PER_QUEUE})
  ) old
) as ids
from (
  select line, coalesce(own.days, of_all.days) as days, coalesce(own.runs, of_all.runs) as runs
  from lines
  left join run_retention own on own.tenant_id = $1::uuid and own.workflow_id = line
  left join run_retention of_all on of_all.tenant_id = $1::uuid and of_all.workflow_id is null
  where line is not null
) rule order by line`;

const NOTE_DELETION = `
insert into tenant_usage as u (tenant_id, version_bytes, runs_deleted_until)
select t.id, 0, (select max(completed_at) from workflow_instance where id = any($2::uuid[]))
from tenant t where t.id = $1 and t.deleting_at is null
on conflict (tenant_id) do update set runs_deleted_until = greatest(u.runs_deleted_until, excluded.runs_deleted_until)`;

export const CHILDREN = `
select id, parent_id, completed_at is null as is_open from workflow_instance
where parent_id = any($1::uuid[]) and id <> all($2::uuid[]) limit ${BATCH.withOthers}`;

const deletions = ofRuns.map(
  // With an array of ids, the planner uses the index even of an empty table, whose size it guesses.
  (other) => `${other}_rows as (delete from ${other} where instance_id = any(array(select id from old)))`,
);

export const DELETE_RUNS = `
with old as materialized (
  select id from workflow_instance where id = any($1::uuid[]) and completed_at is not null for update skip locked
),
${deletions.join(',\n')}
delete from workflow_instance where id = any(array(select id from old))`;

/** Does the work under an advisory lock of the session, since a batch is several statements. Undefined if another worker has the lock. */
export async function withLock<T>(
  pool: Pool,
  lock: readonly [number, number],
  work: (client: PoolClient) => Promise<T>,
): Promise<T | undefined> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1, $2) as mine', [...lock]);
    if (!rows[0]?.mine) return undefined;
    try {
      return await work(client);
    } finally {
      // The connection is then closed, which makes the server release the lock.
      await client.query('select pg_advisory_unlock($1, $2)', [...lock]).catch((error: Error) => {
        broken = error;
      });
    }
  } finally {
    client.release(broken);
  }
}
