import type { z } from 'zod';
import type { Pool } from '#shared/db/pool.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import {
  CREATOR,
  inWindow,
  isPaused,
  isTenantDeleting,
  isUnstartedRoot,
  QUEUE_ID,
  WITHHELD,
} from '#shared/runs/dispatch/dispatch-window.ts';
import { shownKey } from '#shared/runs/dispatch/dispatcher.ts';
import { HOLDS_KEY, QUEUED, QUEUED_SINCE } from '#shared/runs/dispatch/fair-dispatch.ts';
import { TAKES_RUNS } from '#shared/runs/dispatch/worker-capacity.ts';
import type { PausedQueues } from './paused-queues.ts';
import { plain, reasonOfWaits } from './reason-of-waits.ts';
import type { Waiting, WaitReason } from './wait-schemas.ts';

type Reason = z.input<typeof WaitReason>;

/** Runs ahead are counted up to this number. */
const MAX_COUNTED = 1_000;

/** A run, with the facts by which a dispatch decides about it. */
interface Circumstances {
  isQueued: boolean;
  isDispatched: boolean;
  isBlocked: boolean;
  isTenantDeleting: boolean;
  /** The run was withheld during a pause, which may have ended since. */
  isWithheld: boolean;
  /** The run must not begin before a pause is over. */
  isPaused: boolean;
  isWorkflowPaused: boolean;
  isTenantPaused: boolean;
  withheldAhead: number;
  hasWorker: boolean;
  /** Kinds of nodes that no live worker knows, if no worker could begin the run. */
  unknownKinds: string[] | null;
  /** Seconds until the dispatch of a run that could not begin is tried again. */
  triedAgainIn: number | null;
  key: string | null;
  keyLimit: number | null;
  owner: string | null;
  aheadOfKey: number;
  ahead: number;
  maxRuns: number | null;
  tenantInFlight: number;
  workflowLimit: number | null;
  workflowInFlight: number;
  rateLimit: number | null;
  rateSeconds: number | null;
  /** Seconds until the rate limit admits another run; null or not above 0 if it admits one now. */
  rateFreeIn: number | null;
  /** Mean duration of the last runs of the workflow. */
  seconds: number | null;
}

interface Sources {
  pool: Pool;
  pausedQueues: PausedQueues;
}

/**
 * Says why a run is not running, from the rows by which a dispatch decides. `waits` is the wait of its nodes. The number
 * of rows that it reads is bounded.
 */
export async function findWaitReason(
  { pool, pausedQueues }: Sources,
  run: { id: string; tenantID: string },
  waits: z.input<typeof Waiting> | undefined,
): Promise<Reason | undefined> {
  const { rows } = await pool.query<Circumstances>({
    name: 'wait_reason',
    text: CIRCUMSTANCES,
    values: [run.id, run.tenantID],
  });
  const [circumstances] = rows;
  if (!circumstances) return undefined;
  if (circumstances.isQueued)
    return reasonInQueue(circumstances, (await pausedQueues.names()).includes(workflowRuns.name));
  return waits && reasonOfWaits(pool, run, waits);
}

/** The first reason that applies, in the order in which a dispatch would find it. */
function reasonInQueue(circumstances: Circumstances, isQueuePaused: boolean): Reason {
  const { ahead } = circumstances;
  if (!circumstances.hasWorker) return plain('no-worker', 'no worker is running');
  if (circumstances.isDispatched && !isQueuePaused)
    return { code: 'queue', message: 'has been handed to the workers', position: 0, estimateSeconds: 0 };
  if (circumstances.isTenantDeleting) return plain('paused', 'no run of this workflow begins at present');
  if (circumstances.isPaused || circumstances.isWithheld) return pauseReason(circumstances);
  if (isQueuePaused) return plain('paused', 'an operator of this deployment has paused the queue of runs');
  if (circumstances.unknownKinds?.length)
    return plain('no-worker', `no running worker knows nodes of the kind ${circumstances.unknownKinds.join(', ')}`);
  if (circumstances.triedAgainIn !== null && circumstances.triedAgainIn > 0)
    return {
      ...plain('delay', 'could not begin, and is tried again'),
      estimateSeconds: Math.ceil(circumstances.triedAgainIn),
    };
  return (
    keyReason(circumstances) ??
    limitReason(circumstances) ??
    behind(circumstances, 'queue', ahead, `${counted(ahead)} ahead in this workflow`, 1)
  );
}

/** When a pause is over, withheld runs begin in the order in which they were accepted. */
function pauseReason({
  isPaused: isStillPaused,
  isWorkflowPaused,
  isTenantPaused,
  withheldAhead,
}: Circumstances): Reason {
  const names = [
    ...(isWorkflowPaused ? ['the workflow'] : []),
    ...(isTenantPaused ? ['the intake of the tenant'] : []),
  ];
  const paused = `${names.join(' and ')} ${names.length > 1 ? 'are' : 'is'} paused`;
  const why = isStillPaused && names.length > 0 ? paused : 'goes on after a pause';
  const message = `${why}; ${counted(withheldAhead)} ahead in this workflow`;
  return { code: 'paused', message, position: withheldAhead + 1, estimateSeconds: null };
}

function keyReason(circumstances: Circumstances): Reason | undefined {
  const { isBlocked, key, owner, aheadOfKey, keyLimit } = circumstances;
  if (key === null || !isBlocked) return undefined;
  const owned = owner ? `, held by run ${owner}` : '';
  return behind(
    circumstances,
    'key-limit',
    aheadOfKey,
    `waits for ${nameOfKey(shownKey(key))}${owned}; ${counted(aheadOfKey)} ahead`,
    keyLimit ?? 1,
  );
}

/** Says what an empty key is: all runs share it whose inputs are missing, null or empty where the key has its templates. */
function nameOfKey(key: string): string {
  return key.trim() === '' ? 'the empty key, shared by runs without a value for it' : `key \`${key}\``;
}

function limitReason(circumstances: Circumstances): Reason | undefined {
  const { ahead, maxRuns, tenantInFlight, workflowLimit, workflowInFlight, rateLimit, rateSeconds, rateFreeIn } =
    circumstances;
  if (maxRuns !== null && tenantInFlight >= maxRuns)
    return behind(
      circumstances,
      'tenant-limit',
      ahead,
      `${counted(ahead)} ahead in this workflow; the limit of the tenant is ${maxRuns} at once`,
      maxRuns,
    );
  if (workflowLimit !== null && workflowInFlight >= workflowLimit)
    return behind(
      circumstances,
      'workflow-limit',
      ahead,
      `${counted(ahead)} ahead; the limit of the workflow is ${workflowLimit} at once`,
      workflowLimit,
    );
  if (rateLimit === null || rateSeconds === null || rateFreeIn === null || rateFreeIn <= 0) return undefined;
  const rounds = Math.floor(ahead / rateLimit);
  return {
    code: 'rate-limit',
    message: `${counted(ahead)} ahead; the rate of the workflow is ${rateLimit} in ${rateSeconds} s`,
    position: ahead + 1,
    estimateSeconds: ahead > MAX_COUNTED ? null : Math.ceil(rateFreeIn + rounds * rateSeconds),
  };
}

function behind(
  { seconds }: Circumstances,
  code: Reason['code'],
  ahead: number,
  message: string,
  atOnce: number,
): Reason {
  const estimate = seconds === null || ahead > MAX_COUNTED ? null : Math.ceil(((ahead + 1) * seconds) / atOnce);
  return { code, message, position: ahead + 1, estimateSeconds: estimate };
}

function counted(ahead: number): string {
  if (ahead > MAX_COUNTED) return `more than ${MAX_COUNTED.toLocaleString('en')} runs are`;
  return ahead === 1 ? '1 run is' : `${ahead} runs are`;
}

const count = (rows: string) => `(select count(*)::int from (${rows} limit ${MAX_COUNTED + 1}) counted)`;

/** Runs that one request has started have the same time, so ids decide. The first condition lets Postgres use an index. */
const BEFORE_OWN = `${QUEUED_SINCE} <= own.since and (${QUEUED_SINCE}, id) < (own.since, own.id)`;

const CIRCUMSTANCES = `
with own as (
  select *, ${CREATOR} as of_creator, ${QUEUE_ID} as of_queue, ${QUEUED_SINCE} as since from workflow_instance where id = $1 and tenant_id = $2
),
busy as materialized (${inWindow('tenant_id = $2')})
select (own.ready_at is not null or own.kept_since is not null) and own.held_by is null and own.completed_at is null as "isQueued",
  own.dispatched_at is not null as "isDispatched", own.is_blocked as "isBlocked", ${isTenantDeleting('own.tenant_id')} as "isTenantDeleting",
  own.kept_since is not null as "isWithheld", ${isUnstartedRoot('own')} and ${isPaused('own.tenant_id', 'own.of_queue')} as "isPaused",
  exists (select from workflow p where p.id = own.of_queue and p.paused_at is not null) as "isWorkflowPaused",
  exists (select from tenant p where p.id = own.tenant_id and p.paused_at is not null) as "isTenantPaused",
  ${count(`select from workflow_instance where ${WITHHELD} and ${QUEUE_ID} = own.of_queue
    and (kept_since, id) < (coalesce(own.kept_since, own.ready_at), own.id)`)} as "withheldAhead",
  exists (select from worker_session where ${TAKES_RUNS}) as "hasWorker",
  extract(epoch from own.not_before - now())::float8 as "triedAgainIn",
  case when own.hand_backs <> 0 and own.not_before is not null then (
    select array_agg(distinct node ->> 'type') from workflow_version v cross join lateral jsonb_array_elements(v.nodes) node
    where v.id = own.version_id and v.tenant_id = $2
      and not exists (select from worker_session where ${TAKES_RUNS} and kinds @> array[node ->> 'type'])
  ) end as "unknownKinds",
  case when own.started_at is null then own.concurrency_key end as key, (own.limits -> 'key' ->> 'limit')::int as "keyLimit",
  (select h.id from workflow_instance h
   where h.tenant_id = $2 and h.concurrency_key = own.concurrency_key and ${HOLDS_KEY} and h.id <> $1 order by h.id limit 1) as owner,
  ${count(`select from workflow_instance where tenant_id = $2 and concurrency_key = own.concurrency_key and is_blocked and completed_at is null
    and ${BEFORE_OWN}`)} as "aheadOfKey",
  ${count(`select from workflow_instance where ${QUEUED} and ${CREATOR} = own.of_creator and tenant_id = $2 and ${QUEUE_ID} = own.of_queue
    and class = own.class and ${BEFORE_OWN}`)} as ahead,
  (select max_runs from tenant_dispatch d where d.tenant_id = $2) as "maxRuns",
  (select count(*)::int from busy) as "tenantInFlight",
  (own.limits ->> 'runs')::int as "workflowLimit",
  (select count(*)::int from busy where busy.queue_id = own.of_queue and busy.is_whole) as "workflowInFlight",
  (own.limits -> 'rate' ->> 'limit')::int as "rateLimit", (own.limits -> 'rate' ->> 'seconds')::int as "rateSeconds",
  (select extract(epoch from s.started_at - now())::float8 + (own.limits -> 'rate' ->> 'seconds')::float8 from workflow_instance s
   where own.limits -> 'rate' is not null and s.tenant_id = $2 and coalesce(s.workflow_id, s.tenant_id) = own.of_queue
     and s.limits is not null and s.started_at is not null
   order by s.started_at desc offset (own.limits -> 'rate' ->> 'limit')::int - 1 limit 1) as "rateFreeIn",
  (select avg(extract(epoch from r.completed_at - r.started_at))::float8 from (
     select completed_at, started_at from workflow_instance w
     where w.tenant_id = $2 and w.workflow_id = own.workflow_id order by created_at desc limit 50
   ) r where r.completed_at is not null) as seconds
from own`;
