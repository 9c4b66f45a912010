import { FIRST_ID } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';
import {
  CREATOR,
  isPaused,
  isUnstartedRoot,
  QUEUE_ID,
  WITHHELD,
  WITHHELD_EXTENSION,
} from '#shared/runs/dispatch/dispatch-window.ts';
import { QUEUED } from '#shared/runs/dispatch/fair-dispatch.ts';

/** Paused workflows or tenants that one round looks at; the next round goes on after them. */
const AT_ONCE = 100;
/** Runs that one statement takes out of the queue or puts into it. */
const BATCH = 1_000;
/** Statements of one kind in a round, so that a backlog does not delay the other tasks of the sweep. */
const MAX_BATCHES = 20;

interface WorkflowQueue {
  queue_id: string;
  is_paused: boolean;
}

export interface WithheldRuns {
  /** Withholds the queued runs of paused workflows and tenants that were accepted before the pause. Returns how many. */
  withholdRuns(): Promise<number>;
  /** Puts withheld runs whose pause is over back into the queue, in the order in which they were accepted. Returns how many. */
  release(): Promise<number>;
}

/**
 * The runs that a pause keeps out of the queue (withholds). A run that comes during a pause is withheld when it is accepted. The leader does the
 * rest: it withholds runs that were queued before the pause, and releases all after it. Its tasks are read from rows, so a crash loses none.
 */
export function createWithheldRuns(pool: Pool): WithheldRuns {
  const after = { workflow: FIRST_ID, tenant: FIRST_ID };
  let afterQueue = FIRST_ID;

  async function withholdOf(scope: 'workflow' | 'tenant'): Promise<number> {
    const statement = scope === 'workflow' ? WITHHOLD_OF_WORKFLOWS : WITHHOLD_OF_TENANTS;
    let sum = 0;
    for (let n = 0; n < MAX_BATCHES; n += 1) {
      const { rows } = await pool.query<{ last: string | null; looked_at: number; withheld: number }>({
        name: `sweep_withhold_of_${scope}s`,
        text: statement,
        values: [after[scope]],
      });
      const [{ last, looked_at, withheld } = { last: null, looked_at: 0, withheld: 0 }] = rows;
      sum += withheld;
      if (withheld >= BATCH) continue;
      after[scope] = looked_at < AT_ONCE ? FIRST_ID : (last ?? FIRST_ID);
      break;
    }
    return sum;
  }

  async function releaseOf({ queue_id }: WorkflowQueue): Promise<number> {
    let sum = 0;
    for (let n = 0; n < MAX_BATCHES; n += 1) {
      const { rowCount } = await pool.query({ name: 'sweep_release_withheld', text: RELEASE, values: [queue_id] });
      sum += rowCount ?? 0;
      if ((rowCount ?? 0) < BATCH) break;
    }
    return sum;
  }

  return {
    withholdRuns: async () => (await withholdOf('workflow')) + (await withholdOf('tenant')),
    async release() {
      const { rows } = await pool.query<WorkflowQueue>({
        name: 'sweep_find_withheld_queues',
        text: FIND_QUEUES,
        values: [afterQueue],
      });
      let sum = 0;
      for (const queue of rows) if (!queue.is_paused) sum += await releaseOf(queue);
      afterQueue = (rows.length < AT_ONCE ? undefined : rows.at(-1)?.queue_id) ?? FIRST_ID;
      return sum;
    },
  };
}

// `locked` checks again, because a run may have begun or been dispatched since it was found. The positions in the index are compared as rows:
// with plain conditions the planner would take an index by tenant, which also has the withheld runs. Ids pass through arrays: the planner
// expects ten rows of an array, but a thousand of a list with this limit, for which it would read the whole table.
const withhold = (paused: string, position: string, ofPaused: string) => `
with paused as materialized (${paused} order by 1 limit ${AT_ONCE}),
found as materialized (
  select q.id from paused p cross join lateral (
    select id from workflow_instance q
    where ${QUEUED} and (${position}) >= (${ofPaused}) and (${position}) <= (${ofPaused}) and ${isUnstartedRoot('q')} limit ${BATCH}
  ) q limit ${BATCH}
),
locked as materialized (
  select i.id from unnest(array(select id from found)) as found(id) join workflow_instance i on i.id = found.id
  where case when i.ready_at is not null and i.held_by is null and i.dispatched_at is null and i.completed_at is null then true else false end
  order by i.id for no key update of i skip locked
),
withheld as (
  update workflow_instance i
  set kept_since = ready_at, ready_at = null, wake_at = null, deadline_at = deadline_at + ${WITHHELD_EXTENSION}
  from unnest(array(select id from locked)) as locked(id) where i.id = locked.id returning i.id
)
select max(id::text)::uuid as last, count(*)::int as looked_at, (select count(*)::int from withheld) as withheld from paused`;

const WITHHOLD_OF_WORKFLOWS = withhold(
  `select w.id, w.tenant_id as tenant, coalesce(t.creator_id, t.id) as creator from workflow w join tenant t on t.id = w.tenant_id
   where w.paused_at is not null and w.id > $1::uuid`,
  `${CREATOR}, tenant_id, ${QUEUE_ID}`,
  'p.creator, p.tenant, p.id',
);
const WITHHOLD_OF_TENANTS = withhold(
  `select t.id, t.id as tenant, coalesce(t.creator_id, t.id) as creator from tenant t where t.paused_at is not null and t.id > $1::uuid`,
  `${CREATOR}, tenant_id`,
  'p.creator, p.tenant',
);

const FIND_QUEUES = `
with recursive queue as (
  (select 1 as n, tenant_id, ${QUEUE_ID} as queue_id from workflow_instance where ${WITHHELD} and ${QUEUE_ID} > $1::uuid order by ${QUEUE_ID} limit 1)
  union all
  select n + 1, next.tenant_id, next.queue_id from queue l cross join lateral (
    select tenant_id, ${QUEUE_ID} as queue_id from workflow_instance where ${WITHHELD} and ${QUEUE_ID} > l.queue_id order by ${QUEUE_ID} limit 1
  ) next where n < ${AT_ONCE}
)
select queue_id, ${isPaused('queue.tenant_id', 'queue.queue_id')} as is_paused from queue order by queue_id`;

// A run gets back the time at which it was accepted, so it comes before runs accepted later. Its deadline moves on by the length of the pause.
const RELEASE = `
with next as materialized (
  select id from workflow_instance where ${WITHHELD} and ${QUEUE_ID} = $1
  order by ${QUEUE_ID}, kept_since, id limit ${BATCH} for no key update skip locked
)
update workflow_instance i
set ready_at = kept_since, kept_since = null, deadline_at = deadline_at - ${WITHHELD_EXTENSION} + (now() - kept_since)
from unnest(array(select id from next)) as next(id) where i.id = next.id and case when i.completed_at is null then true else false end`;
