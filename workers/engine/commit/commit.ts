import { setTimeout as sleep } from 'node:timers/promises';
import { bisect } from '#shared/concurrency/bisect.ts';
import type { Logger } from '#shared/core/logger.ts';
import { mayPass, type Pool } from '#shared/db/pool.ts';
import type { RunEventRow } from '#shared/messaging/realtime/run-events.ts';
import type { PendingCommit } from '../state/pending-commit.ts';
import type { Run } from '../state/run.ts';
import { toRows } from './committed-rows.ts';
import { CommitQueue } from './queue.ts';
import { type CommitRow, statementOf } from './statement.ts';
import { readStates, stateOf } from './states.ts';
import { type Entry, takeEntry } from './values.ts';

/** Result of a commit for one run. */
export interface Committed {
  run: Run;
  pending: PendingCommit;
  wakeSeq: number;
  watched: boolean;
  /** A wake came before the park, so the run is READY again. */
  ready: boolean;
  /** The channel of the process that waits for the end of the run. */
  awaitedBy: string | null;
  /** Length of the run's output as JSON text. */
  outputLength: number;
}

export interface Committer {
  /** Writes the run's pending commit with the next batch. */
  submit(run: Run): void;
  /** Whether a commit of the run is waiting or in flight. */
  isBusy(run: Run): boolean;
  /** Resolves when no commit is waiting or in flight. */
  idle(): Promise<void>;
  readonly stats: CommitStats;
}

/** Totals so far, for metrics. */
export interface CommitStats {
  statements: number;
  /** Statements that were sent again after a temporary error. */
  repeats: number;
  /** Commits of single runs. One statement carries many of them. */
  commits: number;
  /** Length of the texts in these commits. */
  characters: number;
  seconds: number;
  /** Commits of runs that another worker owns. */
  fenced: number;
  /** Commits that the database has refused. */
  refused: number;
}

export interface CommitterOptions {
  pool: Pool;
  leaseID: () => string;
  logger: Logger;
  onCommitted(result: Committed): void;
  /** Another of these callbacks has thrown for a run, which therefore cannot go on in this process. */
  onBroken(run: Run, error: Error): void;
  onFenced(run: Run): void;
  /** The database has refused the data of this run. */
  onRefused(run: Run, pending: PendingCommit, error: Error): void;
  publish(rows: readonly RunEventRow[]): void;
}

/** Pause before commits whose rows were locked are sent again. */
const LOCKED_MS = 20;
/** Pause before a batch is sent again after a temporary error. */
const AGAIN_MS = 250;

/**
 * Writes the pending commits of all runs owned here, many runs per statement. A run is in at most one statement at a time, and its
 * `seq` is assigned when the batch is built, so a batch that is sent again changes nothing.
 */
export function createCommitter(options: CommitterOptions): Committer {
  const { pool, logger } = options;
  const stats: CommitStats = {
    statements: 0,
    repeats: 0,
    commits: 0,
    characters: 0,
    seconds: 0,
    fenced: 0,
    refused: 0,
  };
  /** Runs whose commit is waiting or in flight. */
  const busy = new Set<Run>();
  const queue = new CommitQueue(takeOf);
  let locked = 0;
  let scheduled = false;
  let idleWaiters: (() => void)[] = [];

  function submit(run: Run): void {
    if (busy.has(run) || !run.hasWork) return;
    busy.add(run);
    queue.add(run);
    kick();
  }

  function kick(): void {
    if (scheduled || !queue.next) return;
    scheduled = true;
    // One round of the event loop later: outcomes of the same round share the statement.
    setImmediate(() => {
      scheduled = false;
      void writeBatches();
    });
  }

  async function writeBatches(): Promise<void> {
    for (let kind = queue.next; kind; kind = queue.next) {
      const batch = queue.begin(kind);
      // Other commits of the queue may be written at the same time.
      kick();
      await bisect(batch, write, refuse);
      queue.end(kind);
    }
    if (!isIdle()) return;
    const waiters = idleWaiters;
    idleWaiters = [];
    for (const resolve of waiters) resolve();
  }

  function isIdle(): boolean {
    return queue.isIdle && locked === 0 && !scheduled;
  }

  /** Takes the pending commit of a run; undefined if the run was released meanwhile, or taking it has thrown. */
  function takeOf(run: Run): Entry | undefined {
    const entry = run.releaseReason === null ? take(run) : undefined;
    if (!entry) busy.delete(run);
    return entry;
  }

  function take(run: Run): Entry | undefined {
    let entry: Entry | undefined;
    guard(run, () => {
      entry = takeEntry(run);
    });
    return entry;
  }

  /** Commits a batch. Returns the error if the database refuses the batch: one of its runs may have caused that, and `bisect` finds it. */
  async function write(batch: readonly Entry[]): Promise<unknown> {
    let rows: CommitRow[] | undefined;
    while (!rows) {
      try {
        rows = await send(batch);
      } catch (error) {
        if (!mayPass(error)) return error;
        // Either the answer was lost or the statement was never executed. Sending the batch again is safe, and tells which.
        logger.warn({ err: error, steps: batch.length }, 'commit is sent again');
        stats.repeats += 1;
        await sleep(AGAIN_MS);
      }
    }
    finish(batch, rows);
    // `busy` would not tell which commits were written: a run whose next commit was ready at once is busy again by now.
    const written = new Set(rows.map(({ id }) => id));
    const left = batch.filter(({ run }) => !written.has(run.id));
    if (left.length > 0) await examine(left);
    return undefined;
  }

  async function send(batch: readonly Entry[]): Promise<CommitRow[]> {
    stats.statements += 1;
    stats.commits += batch.length;
    for (const { size } of batch) stats.characters += size;
    const began = performance.now();
    try {
      const { rows } = await pool.query<CommitRow>(statementOf(batch, options.leaseID()));
      return rows;
    } finally {
      stats.seconds += (performance.now() - began) / 1000;
    }
  }

  function finish(batch: readonly Entry[], rows: CommitRow[]): void {
    const byID = new Map(batch.map((entry) => [entry.run.id, entry]));
    const watched: [Entry, Date][] = [];
    for (const row of rows) {
      const entry = byID.get(row.id);
      if (!entry) continue;
      settled(entry, { wakeSeq: row.wake_seq, watched: row.watched, ready: row.ready, awaitedBy: row.awaited_by });
      if (row.watched) watched.push([entry, row.at]);
    }
    try {
      options.publish(watched.flatMap(([entry, at]) => toRows(entry, at)));
    } catch (error) {
      logger.warn({ err: error }, 'changes not published; the gateways read them within a second');
    }
  }

  function settled(
    { run, pending, toSeq, output }: Entry,
    result: Omit<Committed, 'run' | 'pending' | 'outputLength'>,
  ): void {
    run.committed(toSeq);
    busy.delete(run);
    guard(run, () => options.onCommitted({ run, pending, outputLength: output?.length ?? 0, ...result }));
  }

  /** An exception in the handling of one run must not end the commits of all. */
  function guard(run: Run, handle: () => void): void {
    try {
      handle();
    } catch (error) {
      options.onBroken(run, error as Error);
    }
  }

  /** Finds out why a run was not updated: committed earlier, locked, or no longer owned here. */
  async function examine(entries: Entry[]): Promise<void> {
    const rows = await readStates(pool, entries, logger);
    const again: Entry[] = [];
    for (const entry of entries) {
      const row = rows.find(({ id }) => id === entry.run.id);
      const state = stateOf(entry, row, options.leaseID());
      if (row && state === 'committed')
        settled(entry, {
          wakeSeq: row.wake_seq,
          watched: true,
          ready: row.held_by === null && row.status === 'WAITING',
          awaitedBy: row.awaited_by,
        });
      else if (state === 'locked') again.push(entry);
      else {
        stats.fenced += 1;
        busy.delete(entry.run);
        guard(entry.run, () => options.onFenced(entry.run));
      }
    }
    if (again.length > 0) retryLater(again);
  }

  /** Moves runs with locked rows to a later batch, so that no other run waits for them. */
  function retryLater(entries: Entry[]): void {
    locked += entries.length;
    setTimeout(() => {
      locked -= entries.length;
      queue.addAgain(entries);
      kick();
    }, LOCKED_MS);
  }

  function refuse({ run, pending }: Entry, error: unknown): void {
    stats.refused += 1;
    busy.delete(run);
    guard(run, () => options.onRefused(run, pending, error as Error));
  }

  return {
    stats,
    submit,
    isBusy: (run) => busy.has(run),
    idle: () =>
      isIdle()
        ? Promise.resolve()
        : new Promise((resolve) => {
            idleWaiters.push(resolve);
          }),
  };
}
