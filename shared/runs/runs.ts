import { batched } from '../concurrency/batcher.ts';
import { Tally } from '../core/counter.ts';
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
import { isIntake, isKept, LINE, SKIPS } from './dispatch/dispatch-window.ts';
import { type Admissions, type Admitted, createAdmission } from './dispatch/dispatcher.ts';
import { cutIntoJobs } from './dispatch/job-batches.ts';
import { READY_BY_ID } from './dispatch/ready-runs.ts';
import { createReadFleet, type Fleet } from './dispatch/worker-capacity.ts';
import { type Ending, endTree } from './end-tree.ts';
import { MAX_SIGNALS, RUN_CHANNEL, type RunSignal } from './signals.ts';

/** Hand-overs to the queue: of new runs, of runs that were woken, and of those that had waited for room in the window. */
type HandOvers = Tally<'kind' | 'outcome'>;

export interface Runs {
  /** Creates one run, durable when this returns. A repeated idempotency key returns the run of the first request. */
  accept(run: NewRun, idempotency?: IdempotencyClaim): Promise<{ instanceID: string }>;
  /** Runs `work` in a transaction in which `accept` creates runs. They are handed over after the commit. */
  acceptWithin<T>(
    work: (client: PoolClient, accept: (runs: readonly NewRun[]) => Promise<void>) => Promise<T>,
  ): Promise<T>;
  /** Creates many runs in one statement. Returns their ids in order. */
  acceptMany(runs: readonly NewRun[]): Promise<string[]>;
  /** Creates a batch of runs, as many as the tenant has room for. Returns the answer to its request, or that of an earlier one. */
  acceptBatch(accepting: BatchToAccept): Promise<JsonObject>;
  /** Creates a run that may take results over from another. Returns the answer to its request, or that of an earlier one. */
  acceptRerun(accepting: RerunToAccept): Promise<JsonObject>;
  /** Hands READY runs to the queue while the window has room; the sweep hands over the rest. Never throws. */
  handOver(ids: readonly string[]): Promise<void>;
  /**
   * Puts runs that are handed over, of one tenant, back into the queue, because the process that took them has no place: before others, since
   * their turn had come, or after them, where those would find one.
   */
  putBack(
    job: { tenantID?: string | undefined; runs: readonly Claimable[] },
    options: { isLast: boolean },
  ): Promise<void>;
  /** Hands over READY runs until the window is full; one process at a time. Returns the number of runs handed over. */
  refill(): Promise<number>;
  /** Cancels the run and its descendants. Returns its status afterwards, or null if the tenant has no such run. */
  stop(tenantID: string, instanceID: string): Promise<string | null>;
  /** Ends runs and their descendants, and signals their holders. Returns the ids that were ended. */
  end(ending: Ending): Promise<string[]>;
  /** Makes runs READY or signals their holders, after a fact was committed for them. */
  wake(ids: readonly string[]): Promise<void>;
  /** Totals so far, for metrics. */
  readonly handOvers: HandOvers;
  readonly admissions: Admissions;
}

interface Dependencies {
  pool: Pool;
  /** For handing over and waking: see `createDispatchPool`. */
  dispatchPool: Pool;
  producer: Producer;
  messages: Messages;
  logger: Logger;
}

/** Accepts, hands over, wakes and ends runs that this process does not hold; for the API and workers. */
export function createRuns({ pool, dispatchPool, producer, messages, logger }: Dependencies): Runs {
  const counts: HandOvers = new Tally();
  const inFlight = createRunsInFlight(pool);
  const readFleet = createReadFleet(dispatchPool);
  const accepts = batched(async (all: NewRun[]) => {
    const accepted = await acceptRuns(pool, all);
    void handOverAccepted(accepted);
    return accepted.map(({ id }) => id);
  }, isRefusedStatement);
  const handOvers = batched(async (ids: string[]) => {
    await dispatch(ids);
    return ids;
  });

  /** Those that have to wait for an admission are left to it. */
  async function dispatch(ids: readonly string[]): Promise<void> {
    const { rows } = await dispatchPool.query<SkipRow>({ name: 'hand_over_runs', text: HAND_OVER, values: [ids] });
    // Committed above: a job is added only for a row that says so. If this add fails, the sweep adds it again.
    await addJobs(
      'woken',
      rows.map(({ tenant_id: tenantID, ...run }) => ({ ...run, tenantID })),
    );
    if (rows.length < ids.length) admission.admitSoon();
  }

  async function addJobs(kind: 'new' | 'woken' | 'refill', runsToAdd: readonly Admitted[]): Promise<void> {
    let left = runsToAdd.length;
    try {
      for (const [priority, group] of Map.groupBy(runsToAdd, (run) => run.priority)) {
        const jobs = cutIntoJobs(group, group.length > 1 ? await readFleet().catch(() => ONE_SLOT) : ONE_SLOT);
        await producer.enqueue(workflowRuns, jobs, { priority });
        counts.add({ kind, outcome: 'added' }, group.length);
        left -= group.length;
      }
    } finally {
      if (left > 0) counts.add({ kind, outcome: 'failed' }, left);
    }
  }

  /** Adds the first jobs of runs whose rows say that they have one, and sees to the admission of the others. Never throws. */
  async function handOverAccepted(accepted: readonly Accepted[]): Promise<void> {
    const handedOver = accepted.flatMap(({ priority, ...run }) => (priority === null ? [] : [{ ...run, priority }]));
    if (handedOver.length < accepted.length) admission.admitSoon();
    await addJobs('new', handedOver).catch((error) => logger.warn({ err: error }, 'runs left to the sweep'));
  }

  async function signal(signals: RunSignal[]): Promise<void> {
    for (let at = 0; at < signals.length; at += MAX_SIGNALS)
      await messages
        .publish(RUN_CHANNEL, signals.slice(at, at + MAX_SIGNALS))
        .catch((error) => logger.debug({ err: error }, 'run signals not sent'));
  }

  const admission = createAdmission({
    pool: dispatchPool,
    addJobs: (admitted) => addJobs('refill', admitted),
    runs: { end: (ending) => runs.end(ending), wake: (ids) => runs.wake(ids) },
    logger,
  });
  const runs: Runs = {
    handOvers: counts,
    async accept(run, idempotency) {
      const refusal = await inFlight.add(run.tenantID, run.input);
      if (!idempotency) {
        if (refusal) throw refusal;
        return { instanceID: await accepts(run) };
      }
      const accepted = await acceptOnce(pool, run, { claim: idempotency, refusal });
      void handOverAccepted([accepted]);
      return { instanceID: accepted.id };
    },
    async acceptWithin(work) {
      const accepted: Accepted[] = [];
      const result = await inTransaction(pool, (client) =>
        work(client, async (all) => void accepted.push(...(await acceptRuns(client, all)))),
      );
      if (accepted.length > 0) void handOverAccepted(accepted);
      return result;
    },
    async acceptMany(all) {
      const ids = await insertRuns(pool, all);
      void runs.refill().catch(() => undefined);
      return ids;
    },
    async acceptBatch(accepting) {
      const { batch, items } = accepting;
      const inputs = items.map(({ run }) => run.input);
      const room = await inFlight.addMany(batch.tenantID, items.length, inputs);
      const answer = await acceptBatch(pool, { ...accepting, room });
      void runs.refill().catch(() => undefined);
      return answer;
    },
    async acceptRerun(accepting) {
      const refusal = await inFlight.add(accepting.run.tenantID, accepting.run.input);
      const answer = await acceptRerun(pool, { ...accepting, refusal });
      void runs.handOver([accepting.run.id]);
      return answer;
    },
    async handOver(ids) {
      try {
        await Promise.all(ids.map((id) => handOvers(id)));
      } catch (error) {
        logger.warn({ err: error }, 'runs left to the sweep');
      }
    },
    refill: () => admission.admit(),
    async putBack({ tenantID, runs: [first, ...more] }, { isLast }) {
      // With an id of its own, even for a single run: that of the first job may be the one whose consumer asks for this.
      if (first) await producer.enqueue(workflowRuns, [{ tenantID, ...first, more }], { priority: isLast ? LAST : 0 });
    },
    admissions: admission.counts,
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
      const { rows } = await dispatchPool.query<{ id: string; held: boolean }>({
        name: 'wake_runs',
        text: WAKE,
        // Locked in this order, as by a hand-over and a claim.
        values: [[...ids].sort()],
      });
      const ready = rows.filter(({ held }) => !held).map(({ id }) => id);
      await signal(rows.filter(({ held }) => held).map(({ id }) => ({ kind: 'woken', instanceID: id })));
      if (ready.length > 0) await runs.handOver(ready);
    },
  };
  return runs;
}

/** The priority of runs that go after all others; see `skips`. */
const LAST = 2;

/** For a single run, and for jobs of single runs where the fleet cannot be read. */
const ONE_SLOT: Fleet = { workers: 1, slots: 1 };

// Waits for a locked row, mostly a watcher's short update: if it were skipped, the run would wait for the next sweep.
const HAND_OVER = `
with asked as (
  select row_number() over (order by i.id) as n, i.id, i.tenant_id, ${LINE} as line_id, i.class,
    i.limits is null and not (${isIntake('i')} and ${isKept('i.tenant_id', 'coalesce(i.workflow_id, i.tenant_id)')}) as may_skip
  from workflow_instance i
  where id = any($1::uuid[]) and losses = 0 and ${READY_BY_ID} and coalesce(dispatched_at, 'infinity') = 'infinity'
),
${SKIPS},
picked as (
  select i.id, skips.priority from workflow_instance i join skips on skips.id = i.id
  where losses = 0 and ${READY_BY_ID} and coalesce(dispatched_at, 'infinity') = 'infinity'
  order by i.id for no key update of i
)
update workflow_instance i set dispatched_at = now() from picked where i.id = picked.id
returning i.id, i.tenant_id, i.class, i.epoch, picked.priority`;

interface SkipRow extends Omit<Admitted, 'tenantID'> {
  tenant_id: string;
}

// A notice of a fact that is committed by now is done with: the run, or its holder, reads its waits after this.
const WAKE = `
with told as (delete from run_notice where instance_id = any($1::uuid[]) and kind = 'wake')
update workflow_instance
set wake_seq = wake_seq + 1, ready_at = case when held_by is null then coalesce(ready_at, now()) end
where id = any($1::uuid[]) and completed_at is null
returning id, held_by is not null as held`;
