import type { Rights } from '#shared/access/policy/rights.ts';
import type { MemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { Counter, type TenantLabel } from '#shared/core/counter.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Publisher } from '#shared/messaging/realtime/publish.ts';
import type { WorkerConfig } from '#shared/process/config.ts';
import { MAX_OUTCOME_BYTES, type NotifyCompletion, type RunOutcome } from '#shared/runs/completion-notices.ts';
import type { Runs } from '#shared/runs/runs.ts';
import type { RunSignal } from '#shared/runs/signals.ts';
import type { NodeContext } from '../nodes/executor.ts';
import { createBegin } from './claim/begin.ts';
import { type ClaimStats, createClaims } from './claim/claim.ts';
import { createHandBack } from './claim/hand-back.ts';
import { releaseAll, releaseFenced } from './claim/release.ts';
import { type ClaimOutcome, createRunClaimer, type RunsToClaim } from './claim/run-claimer.ts';
import { type CommitStats, type Committed, createCommitter } from './commit/commit.ts';
import { createNodeDispatcher } from './execute/node-dispatcher.ts';
import { createSlots } from './execute/slots.ts';
import type { Lease } from './lease/lease.ts';
import { createMaps } from './maps/maps.ts';
import { createReconcile, type Reconcile } from './recovery/compare-owned-runs.ts';
import { createRestore } from './restore/restore.ts';
import type { ClaimRow } from './state/claimed-row.ts';
import type { PendingCommit } from './state/pending-commit.ts';
import type { ReleaseReason, Run } from './state/run.ts';
import { createResidentValues } from './values/resident-values.ts';
import { endChildren } from './waits/end-children.ts';
import { createReadEventWaits } from './waits/event-waits.ts';
import { createReadWaits } from './waits/wait-results.ts';
import { createWaitsAgain } from './waits/waits-again.ts';

export interface Engine {
  /**
   * Claims the runs of a job, and owns each until it ends, parks, yields or is handed back. Resolves when they are claimed, and there is
   * a permit for another job.
   */
  advance(job: RunsToClaim): Promise<ClaimOutcome>;
  /** Claims a crash-suspected run and owns it until its interrupted nodes have ended. Answers whether there was one. */
  advanceCrashSuspected(): Promise<boolean>;
  /** Reacts to a change of a run that may be owned here. */
  onSignal(signal: RunSignal): void;
  readonly reconcile: Reconcile;
  /** Sets whether READY runs wait for a worker. If so, a run that was owned for a quantum yields to them between two nodes. */
  setPressure(waiting: boolean): void;
  /** Aborts running nodes and hands all runs back. */
  drain(): Promise<void>;
  /** Drops all runs, after the lease was lost. */
  abandon(): void;
  readonly owned: ReadonlyMap<string, Run>;
  /** Totals so far, for metrics. */
  readonly stats: CommitStats & {
    readonly slotsUsed: number;
    /** Characters of outputs in memory. */
    readonly residentLength: number;
    readonly slotsWaiting: number;
    readonly claims: ClaimStats;
    readonly released: ReleaseStats;
  };
}

/** Runs that this process has released after a claim. */
export interface ReleaseStats {
  readonly runs: Counter<'outcome'>;
  /** Time between claim and release. */
  readonly seconds: Counter<never>;
  readonly tenant: TenantLabel;
}

export interface EngineDependencies {
  pool: Pool;
  /** The pool for claims; see `createDispatchPool`. */
  dispatchPool: Pool;
  /** The pool for commits; see `createCommitPool`. */
  commitPool: Pool;
  rights: Rights;
  runs: Runs;
  publisher: Publisher;
  notifyCompletion: NotifyCompletion;
  nodes: NodeContext;
  config: WorkerConfig;
  lease: Pick<Lease, 'id' | 'isValid' | 'untilValid'>;
  logger: Logger;
  tenantLabel: TenantLabel;
  /** The budget of bytes that nodes may have in memory at once. */
  bytes: Pick<MemoryBudget, 'openReservation'>;
  /** A run was released, so another may be claimed. */
  onFinished(): void;
}

const REFUSED_AGAIN_MS = 1_000;

/** Owns claimed runs: executes nodes, commits, and starts the next nodes, until a run ends or can only wait. */
export function createEngine(dependencies: EngineDependencies): Engine {
  const { pool, runs, publisher, config, lease, logger, tenantLabel } = dependencies;
  const released: ReleaseStats = { runs: new Counter(), seconds: new Counter(), tenant: tenantLabel };
  const leaseID = () => lease.id;
  const owned = new Map<string, Run>();
  const claims = createClaims(dependencies.dispatchPool, leaseID);
  const maps = createMaps({ pool, runs, logger });
  const readEventWaits = createReadEventWaits(dependencies);
  const slots = createSlots(config.slots, lease, dependencies.bytes);
  const values = createResidentValues(config.heldRunsMaxBytes);
  const claimer = createRunClaimer({
    ...dependencies,
    claims,
    slots: config.slots,
    own,
    isOverShare: values.isOverShare,
  });
  let draining = false;
  let pressure = false;

  const committer = createCommitter({
    pool: dependencies.commitPool,
    leaseID,
    logger,
    onCommitted,
    onFenced: (run) => {
      logger.info({ instanceID: run.id, epoch: run.epoch }, 'run was taken away; its late outcome is dropped');
      releaseRun(run, 'fenced');
    },
    onBroken: (run, error) => {
      logger.error({ err: error, instanceID: run.id }, 'run is left to another claim');
      // The database still names this lease as its owner. The next renewals find the run there but not in `owned`, and hand it back.
      releaseRun(run, 'fenced');
    },
    onRefused: (run, pending, cause) => {
      // The message of the error is not logged, because it repeats values.
      const { code } = cause as { code?: unknown };
      logger.warn({ code, instanceID: run.id }, 'the database refused an outcome');
      const message = 'The output cannot be stored in the database';
      if (run.refuse(pending, new AppError('INVALID_OUTPUT', message, { cause }))) committer.submit(run);
      // The refused commit was the failure of the run itself. It is sent again after a pause, or it would keep the committer busy.
      else setTimeout(() => committer.submit(run), REFUSED_AGAIN_MS).unref();
    },
    publish: (rows) => publisher.runEvents(rows),
  });

  const { reread, readFirst } = createWaitsAgain({
    pool,
    readWaits: createReadWaits(pool, readEventWaits, 'over'),
    logger,
    apply: (run, waits) => dispatcher.applyWaits(run, waits),
    onGivenUp: (run) => releaseRun(run, 'fenced'),
  });

  const reconcile = createReconcile({
    owned,
    isBusy: (run) => committer.isBusy(run),
    reread,
    onLost: (run) => releaseRun(run, 'fenced'),
    release: (rows) => releaseFenced(pool, leaseID(), rows),
  });

  const dispatcher = createNodeDispatcher({
    pool,
    rights: dependencies.rights,
    slots,
    nodes: dependencies.nodes,
    maps,
    values,
    config,
    logger,
    submit: (run) => committer.submit(run),
    shouldYield: () => pressure,
    reread,
    readFirst,
  });

  const begin = createBegin({
    ...{ pool, leaseID, logger, config, owned, values, dispatcher, releaseRun, updateMemoryUse },
    isDraining: () => draining,
    onMemoryChanged: () => claimer.setFull(values.isFull),
    restore: createRestore(pool, createReadWaits(pool, readEventWaits, 'all')),
    handBack: createHandBack({ pool, runs, leaseID, logger }),
  });

  function onCommitted(committed: Committed): void {
    const { run, pending, wakeSeq } = committed;
    publisher.reminders(pending.reminders);
    if (pending.end) return onEnded(committed, pending.end);
    updateMemoryUse(run, pending.events);
    if (pending.children.length > 0) void runs.dispatch(pending.children.map(({ id }) => id));
    for (const { id } of pending.maps) void maps.advance(id);
    if (pending.release !== 'none') return onReleased(committed, pending.release);
    if (run.releaseReason) return;
    dispatcher.startNext(run, pending);
    if (wakeSeq > run.observedWakeSeq) reread(run);
    committer.submit(run);
  }

  /** Updates the memory that a run is counted with, after a commit or a restore. */
  function updateMemoryUse(run: Run, events: PendingCommit['events'] = []): void {
    if (run.releaseReason) return;
    values.count(run, events);
    claimer.setFull(values.isFull);
  }

  function onReleased({ run, ready, awaitedBy }: Committed, how: 'park' | 'yield'): void {
    releaseRun(run, how === 'park' ? 'parked' : 'yielded');
    if (how === 'park' && !ready && awaitedBy)
      dependencies.notifyCompletion(awaitedBy, { instanceID: run.id, isParked: true });
    if (how === 'park' && ready) void runs.dispatch([run.id]);
  }

  function onEnded({ run, awaitedBy, outputLength }: Committed, outcome: RunOutcome): void {
    if (awaitedBy)
      dependencies.notifyCompletion(awaitedBy, {
        instanceID: run.id,
        ...(outputLength < MAX_OUTCOME_BYTES && { outcome }),
      });
    const { hasChildren } = run;
    releaseRun(run, 'done');
    if (run.chunk) void maps.advance(run.chunk.mapID);
    else if (run.parentID)
      runs.wake([run.parentID]).catch((error) => logger.warn({ err: error }, 'parent is left to the sweep'));
    if (hasChildren) void endChildren({ pool, runs, logger }, run.id);
  }

  function releaseRun(run: Run, reason: ReleaseReason): void {
    if (!run.release(reason)) return;
    if (reason === 'fenced' || reason === 'drained') run.abort(new AppError('NODE_FAILED', `The run was ${reason}`));
    if (owned.get(run.id) === run) owned.delete(run.id);
    values.drop(run);
    claimer.setFull(values.isFull);
    dependencies.onFinished();
  }

  /** Owns a claimed run. Resolves when it was released, or could not begin. */
  async function own(row: ClaimRow): Promise<void> {
    const began = performance.now();
    const outcome = (await begin(row)) ?? 'not begun';
    const labels = tenantLabel.of(row.tenant_id);
    released.runs.add({ ...labels, outcome });
    released.seconds.add(labels, (performance.now() - began) / 1000);
  }

  return {
    owned,
    get stats() {
      const { used: slotsUsed, waiting: slotsWaiting } = slots;
      return {
        ...committer.stats,
        slotsUsed,
        slotsWaiting,
        residentLength: values.length,
        claims: claims.stats,
        released,
      };
    },
    advance: claimer.claim,
    async advanceCrashSuspected() {
      if (draining) return false;
      const row = await claims.claimCrashSuspected();
      if (row) await own(row);
      return row !== null;
    },
    onSignal({ kind, instanceID }) {
      const run = owned.get(instanceID);
      if (!run) return;
      if (kind === 'cancelled') releaseRun(run, 'fenced');
      else reread(run);
    },
    reconcile,
    setPressure(waiting) {
      pressure = waiting;
    },
    async drain() {
      draining = true;
      claimer.close();
      for (const run of owned.values()) run.abort(new AppError('UNAVAILABLE', 'The worker is stopping'));
      await committer.idle();
      const mine = [...owned.values()].filter((run) => run.releaseReason === null);
      for (const run of mine) releaseRun(run, 'drained');
      await releaseAll(pool, leaseID(), logger);
      await runs.dispatchQueued().catch(() => undefined);
    },
    abandon() {
      for (const run of [...owned.values()]) releaseRun(run, 'fenced');
    },
  };
}
