import { z } from 'zod';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import type { RunBroadcast } from '#shared/messaging/realtime/publish.ts';
import { RUN_CHANNEL, RunSignal } from '#shared/runs/signals.ts';
import { type Deliver, WatchedRun } from './watched-run.ts';
import { beginWatching, findMoved, keepWatching, readRunEvents } from './watched-run-rows.ts';

export interface RunWatch extends AsyncDisposable {
  /**
   * Sends every event after `lastSeq`, in order and once, then live events until the run's end. Returns the function
   * that stops it.
   */
  watch(instanceID: string, lastSeq: number, deliver: Deliver): () => void;
  /** Delivers messages that another process has published. */
  receive(broadcast: RunBroadcast): void;
}

interface Dependencies {
  pool: Pool;
  /**
   * Notifies at once of the end of a run that no worker executes; without it, the comparison finds the end within a
   * second.
   */
  backplane?: Pick<Backplane, 'messages'>;
  logger: Logger;
}

const COMPARE_MS = 1_000;
const RENEW_MS = 30_000;

/**
 * Runs that are watched in this process. Messages are fast but may be lost: a comparison with Postgres finds missed
 * events within a second.
 */
export function createRunWatch({ pool, backplane, logger }: Dependencies): RunWatch {
  const runs = new Map<string, WatchedRun>();
  const onFailure = (error: unknown) => logger.warn({ err: error }, 'watched runs not read; the next comparison will');

  function open(instanceID: string): WatchedRun {
    const known = runs.get(instanceID);
    if (known) return known;
    const run = new WatchedRun({
      read: (after) => readRunEvents(pool, instanceID, { after }),
      onIdle: () => runs.get(instanceID) === run && runs.delete(instanceID),
      onFailure,
    });
    runs.set(instanceID, run);
    begin(instanceID, run).catch(onFailure);
    return run;
  }

  /** Sets `watched_until` before it reads: any later commit publishes its events, and any earlier commit is read. */
  async function begin(instanceID: string, run: WatchedRun): Promise<void> {
    const isGoing = await beginWatching(pool, instanceID);
    run.isOpen = true;
    run.renewAt = performance.now() + RENEW_MS;
    run.moved({ seq: 0, isOver: !isGoing });
  }

  async function renew(): Promise<void> {
    const now = performance.now();
    const due = [...runs].filter(([, run]) => !run.isOver && run.renewAt <= now).map(([id]) => id);
    if (due.length === 0) return;
    for (const id of await keepWatching(pool, due)) {
      const run = runs.get(id);
      if (!run) continue;
      run.isOpen = true;
      run.renewAt = now + RENEW_MS;
    }
  }

  async function compare(among: Iterable<[string, WatchedRun]>): Promise<void> {
    const going = [...among].filter(([, run]) => !run.isOver);
    if (going.length === 0) return;
    const moved = await findMoved(
      pool,
      going.map(([id]) => id),
      going.map(([, run]) => run.head),
    );
    for (const { id, seq, isOver } of moved) {
      const run = runs.get(id);
      if (isOver && run) run.isOpen = true;
      run?.moved({ seq, isOver });
    }
  }

  let isTicking = false;
  async function tick(): Promise<void> {
    if (isTicking || runs.size === 0) return;
    isTicking = true;
    try {
      await renew();
      await compare(runs);
      for (const run of runs.values()) run.fill();
    } catch (error) {
      onFailure(error);
    } finally {
      isTicking = false;
    }
  }

  const timer = setInterval(() => void tick(), COMPARE_MS).unref();
  const unsubscribe = backplane?.messages.subscribe(RUN_CHANNEL, (message) => {
    const signals = RunSignals.safeParse(message).data ?? [];
    const named = signals.flatMap(({ kind, instanceID }): [string, WatchedRun][] => {
      const run = kind === 'woken' ? undefined : runs.get(instanceID);
      return run ? [[instanceID, run]] : [];
    });
    compare(named).catch(onFailure);
  });

  return {
    watch: (instanceID, lastSeq, deliver) => open(instanceID).watch(lastSeq, deliver),
    receive(broadcast) {
      for (const [instanceID, messages] of broadcast) runs.get(instanceID)?.receive(messages);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      unsubscribe?.();
      for (const run of [...runs.values()]) run.close();
    },
  };
}

const RunSignals = z.array(RunSignal);
