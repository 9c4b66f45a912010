import { createBatcher } from '../concurrency/batcher.ts';
import { Counter } from '../core/counter.ts';
import type { JsonObject } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import type { IdempotencyClaim } from '../db/idempotency.ts';
import { inTransaction, isRefusedStatement, type Pool, type PoolClient } from '../db/pool.ts';
import type { Messages } from '../messaging/backplane/index.ts';
import type { Producer } from '../messaging/producer.ts';
import { type Claimable, workflowRuns } from '../messaging/queues/workflow-runs.ts';
import { createRunsInFlight } from '../tenants/counted-quotas.ts';
import { type Accepted, acceptOnce, acceptRuns, insertRuns, type NewRun } from './accept.ts';
import { acceptBatch, type BatchToAccept } from './accept-batch.ts';
import { acceptRerun, type RerunToAccept } from './accept-rerun.ts';
import { DIRECT, isUnstartedRoot, isWithheld, QUEUE_ID } from './dispatch/dispatch-window.ts';
import { createDispatcher, type DispatchCounts, type DispatchedRun } from './dispatch/dispatcher.ts';
import { cutIntoJobs } from './dispatch/job-batches.ts';
import { READY_BY_ID } from './dispatch/ready-runs.ts';
import { createReadCapacity, type WorkerCapacity } from './dispatch/worker-capacity.ts';
import { type Ending, endTree } from './end-tree.ts';
import { MAX_SIGNALS, RUN_CHANNEL, type RunSignal } from './signals.ts';

/** Runs by the kind of their dispatch: new, woken, or from the queue. The outcome says whether the job was added. */
type JobCounts = Counter<'kind' | 'outcome'>;

export interface Runs {
  /** Creates one run, durable when this returns. A repeated idempotency key returns the run of the first request. */
  accept(run: NewRun, idempotency?: IdempotencyClaim): Promise<{ instanceID: string }>;
  /** Runs `work` in a transaction in which `accept` creates runs. They are dispatched after the commit. */
  acceptWithin<T>(
    work: (client: PoolClient, accept: (runs: readonly NewRun[]) => Promise<void>) => Promise<T>,
  ): Promise<T>;
  /** Creates many runs in one statement. Returns their ids in order. */
  acceptMany(runs: readonly NewRun[]): Promise<string[]>;
  /** Creates a batch of runs, as many as the tenant's quota allows. Returns the response to its request, or that of an earlier one. */
  acceptBatch(accepting: BatchToAccept): Promise<JsonObject>;
  /** Creates a run that may take results over from another. Returns the response to its request, or that of an earlier one. */
  acceptRerun(accepting: RerunToAccept): Promise<JsonObject>;
  /** Dispatches READY runs directly while the window has capacity; the sweep dispatches the rest. Never throws. */
  dispatch(ids: readonly string[]): Promise<void>;
  /**
   * Enqueues jobs of dispatched runs of one tenant again, because the process that took them has no free slot: before other jobs, since
   * these were first, or after them, if others would find a slot.
   */
  putBack(
    job: { tenantID?: string | undefined; runs: readonly Claimable[] },
    options: { isLast: boolean },
  ): Promise<void>;
  /** Dispatches READY runs until the window is full; one process at a time. Returns their number. */
  dispatchQueued(): Promise<number>;
  /** Cancels the run and its descendants. Returns its status afterwards, or null if the tenant has no such run. */
  stop(tenantID: string, instanceID: string): Promise<string | null>;
  /** Ends runs and their descendants, and signals the workers that own them. Returns the ids that were ended. */
  end(ending: Ending): Promise<string[]>;
  /** Makes runs READY or signals the workers that own them, after a wait result was committed for them. */
  wake(ids: readonly string[]): Promise<void>;
  /** Totals so far, for metrics. */
  readonly jobCounts: JobCounts;
  readonly dispatchCounts: DispatchCounts;
}

interface Dependencies {
  pool: Pool;
  /** The pool for dispatching and waking: see `createDispatchPool`. */
  dispatchPool: Pool;
  producer: Producer;
  messages: Messages;
  logger: Logger;
}

/** Accepts, dispatches, wakes and ends runs that this process does not own; for the API and workers. */
export function createRuns({ pool, dispatchPool, producer, messages, logger }: Dependencies): Runs {
  const jobCounts: JobCounts = new Counter();
  const inFlight = createRunsInFlight(pool);
  const readCapacity = createReadCapacity(dispatchPool);
  const acceptBatched = createBatcher(async (all: NewRun[]) => {
    const accepted = await acceptRuns(pool, all);
    void enqueueAccepted(accepted);
    return accepted.map(({ id }) => id);
  }, isRefusedStatement);
  const dispatchBatched = createBatcher(async (ids: string[]) => {
    await dispatchReady(ids);
    return ids;
  });

  /** Dispatches runs directly. Runs that may not skip the queue are left to the dispatcher. */
  async function dispatchReady(ids: readonly string[]): Promise<void> {
    const { rows } = await dispatchPool.query<DispatchedRow>({
      name: 'dispatch_ready_runs',
      text: DISPATCH_BY_ID,
      values: [ids],
    });
    // Committed above: a job is added only for a row that says so. If this add fails, the sweep adds it again.
    await addJobs(
      'woken',
      rows.map(({ tenant_id: tenantID, ...run }) => ({ ...run, tenantID })),
    );
    if (rows.length < ids.length) dispatcher.dispatchSoon();
  }

  async function addJobs(kind: 'new' | 'woken' | 'refill', runsToAdd: readonly DispatchedRun[]): Promise<void> {
    let left = runsToAdd.length;
    try {
      for (const [priority, group] of Map.groupBy(runsToAdd, (run) => run.priority)) {
        const jobs = cutIntoJobs(group, group.length > 1 ? await readCapacity().catch(() => ONE_SLOT) : ONE_SLOT);
        await producer.enqueue(workflowRuns, jobs, { priority });
        jobCounts.add({ kind, outcome: 'added' }, group.length);
        left -= group.length;
      }
    } finally {
      if (left > 0) jobCounts.add({ kind, outcome: 'failed' }, left);
    }
  }

  /** Adds the first jobs of runs whose rows say that they have one, and asks the dispatcher for the others. Never throws. */
  async function enqueueAccepted(accepted: readonly Accepted[]): Promise<void> {
    const dispatched = accepted.flatMap(({ priority, ...run }) => (priority === null ? [] : [{ ...run, priority }]));
    if (dispatched.length < accepted.length) dispatcher.dispatchSoon();
    await addJobs('new', dispatched).catch((error) => logger.warn({ err: error }, 'runs left to the sweep'));
  }

  async function signal(signals: RunSignal[]): Promise<void> {
    for (let at = 0; at < signals.length; at += MAX_SIGNALS)
      await messages
        .publish(RUN_CHANNEL, signals.slice(at, at + MAX_SIGNALS))
        .catch((error) => logger.debug({ err: error }, 'run signals not sent'));
  }

  const dispatcher = createDispatcher({
    pool: dispatchPool,
    addJobs: (dispatched) => addJobs('refill', dispatched),
    runs: { end: (ending) => runs.end(ending), wake: (ids) => runs.wake(ids) },
    logger,
  });
  const runs: Runs = {
    jobCounts,
    async accept(run, idempotency) {
      const refusal = await inFlight.add(run.tenantID, run.input);
      if (!idempotency) {
        if (refusal) throw refusal;
        return { instanceID: await acceptBatched(run) };
      }
      const accepted = await acceptOnce(pool, run, { claim: idempotency, refusal });
      void enqueueAccepted([accepted]);
      return { instanceID: accepted.id };
    },
    async acceptWithin(work) {
      const accepted: Accepted[] = [];
      const result = await inTransaction(pool, (client) =>
        work(client, async (all) => void accepted.push(...(await acceptRuns(client, all)))),
      );
      if (accepted.length > 0) void enqueueAccepted(accepted);
      return result;
    },
    async acceptMany(all) {
      const ids = await insertRuns(pool, all);
      void runs.dispatchQueued().catch(() => undefined);
      return ids;
    },
    async acceptBatch(accepting) {
      const { batch, items } = accepting;
      const inputs = items.map(({ run }) => run.input);
      const grant = await inFlight.addMany(batch.tenantID, items.length, inputs);
      const answer = await acceptBatch(pool, { ...accepting, grant });
      void runs.dispatchQueued().catch(() => undefined);
      return answer;
    },
    async acceptRerun(accepting) {
      const refusal = await inFlight.add(accepting.run.tenantID, accepting.run.input);
      const answer = await acceptRerun(pool, { ...accepting, refusal });
      void runs.dispatch([accepting.run.id]);
      return answer;
    },
    async dispatch(ids) {
      try {
        await Promise.all(ids.map((id) => dispatchBatched(id)));
      } catch (error) {
        logger.warn({ err: error }, 'runs left to the sweep');
      }
    },
    dispatchQueued: () => dispatcher.dispatch(),
    async putBack({ tenantID, runs: [first, ...more] }, { isLast }) {
      // The job has an id of its own, even for a single run: the consumer of the first job may still have it.
      if (first) await producer.enqueue(workflowRuns, [{ tenantID, ...first, more }], { priority: isLast ? LAST : 0 });
    },
    dispatchCounts: dispatcher.counts,
    async stop(tenantID, instanceID) {
      const stopped = await runs.end({ tenantID, ids: [instanceID], status: 'CANCELLED', error: null });
      const { rows } = await pool.query<{ status: string; parent_id: string | null }>(
        'select status, parent_id from workflow_instance where id = $1 and tenant_id = $2',
        [instanceID, tenantID],
      );
      const row = rows[0];
      if (row?.parent_id && stopped.length > 0) await runs.wake([row.parent_id]);
      return row?.status ?? null;
    },
    async end(ending) {
      const ended: string[] = [];
      for await (const ids of endTree(pool, ending)) {
        ended.push(...ids);
        await signal(ids.map((instanceID) => ({ kind: 'cancelled', instanceID })));
      }
      return ended;
    },
    async wake(ids) {
      const { rows } = await dispatchPool.query<{ id: string; isOwned: boolean }>({
        name: 'wake_runs',
        text: WAKE,
        // Sorted, because rows are locked in this order: dispatches and claims do so too, which prevents deadlocks.
        values: [[...ids].sort()],
      });
      const ready = rows.filter(({ isOwned }) => !isOwned).map(({ id }) => id);
      await signal(rows.filter(({ isOwned }) => isOwned).map(({ id }) => ({ kind: 'woken', instanceID: id })));
      if (ready.length > 0) await runs.dispatch(ready);
    },
  };
  return runs;
}

/** The priority of runs that go after all others; see `DIRECT`. */
const LAST = 2;

/** The capacity for a single run, and for jobs of single runs if the capacity cannot be read. */
const ONE_SLOT: WorkerCapacity = { workers: 1, slots: 1 };

// Waits for a locked row, mostly a watcher's short update: if it were skipped, the run would wait for the next sweep.
const DISPATCH_BY_ID = `
with candidate as (
  select row_number() over (order by i.id) as n, i.id, i.tenant_id, ${QUEUE_ID} as queue_id, i.class,
    i.limits is null and not (${isUnstartedRoot('i')} and ${isWithheld('i.tenant_id', 'coalesce(i.workflow_id, i.tenant_id)')}) as may_go_direct
  from workflow_instance i
  where id = any($1::uuid[]) and losses = 0 and ${READY_BY_ID} and coalesce(dispatched_at, 'infinity') = 'infinity'
),
${DIRECT},
picked as (
  select i.id, direct.priority from workflow_instance i join direct on direct.id = i.id
  where losses = 0 and ${READY_BY_ID} and coalesce(dispatched_at, 'infinity') = 'infinity'
  order by i.id for no key update of i
)
update workflow_instance i set dispatched_at = now() from picked where i.id = picked.id
returning i.id, i.tenant_id, i.class, i.epoch, picked.priority`;

interface DispatchedRow extends Omit<DispatchedRun, 'tenantID'> {
  tenant_id: string;
}

// Deletes the outbox entries of wait results committed by now: the worker that advances the run reads its waits after this statement.
const WAKE = `
with told as (delete from run_notice where instance_id = any($1::uuid[]) and kind = 'wake')
update workflow_instance
set wake_seq = wake_seq + 1, ready_at = case when held_by is null then coalesce(ready_at, now()) end
where id = any($1::uuid[]) and completed_at is null
returning id, held_by is not null as "isOwned"`;
