import type { Counter } from '#shared/core/counter.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import type { Producer } from '#shared/messaging/producer.ts';
import { HAS_WAITING } from '#shared/runs/dispatch/fair-dispatch.ts';
import type { Runs } from '#shared/runs/runs.ts';
import type { Events } from '#shared/runs/send-event.ts';
import { createLeader } from '../lease/leader.ts';
import { createRepairs } from './repairs.ts';
import { createWakeTimer } from './wake-timer.ts';
import { createWithheldRuns } from './withheld-runs.ts';

/** Runs that end within this time are replaced by one statement. Meanwhile workers have runs: the dispatch window exceeds the slots by a quarter. */
const DISPATCH_MS = 4;

export interface SweepOptions {
  pool: Pool;
  /** The pool for the ticks of the leader; see `createLeader`. */
  leasePool: Pool;
  runs: Runs;
  producer: Producer;
  backplane: Backplane;
  logger: Logger;
  leaseMs: number;
  /** Delivers workflow events whose process died before it had delivered them. */
  events: Pick<Events, 'tellForgotten'>;
  /** Called once a second with whether READY runs wait for a worker. */
  onPressure(waiting: boolean): void;
}

export interface Sweep extends AsyncDisposable {
  start(): void;
  /** Runs one round, if this process leads. */
  once(): Promise<void>;
  /** Dispatches further runs after one has ended or was released. Calls within a few milliseconds are combined. */
  dispatchSoon(): void;
  /** Totals so far, for metrics: the same object at each read, with current values. */
  readonly stats: {
    leads: boolean;
    forgotten: number;
    tasks: ReadonlyMap<string, TaskStats>;
    repairs: Counter<'kind'>;
  };
}

interface TaskStats {
  times: number;
  failures: number;
  seconds: number;
}

interface SweepTask {
  name: string;
  /** Whether the task runs in this round. Absent: it does in every round. */
  isDue?: boolean;
  run(): Promise<unknown>;
}

/**
 * Continues runs, once a second in the process that leads, after a crash, a lost message or the end of a wait. The tasks do not
 * depend on each other: one that fails is tried again in the next round.
 */
export function createSweep(options: SweepOptions): Sweep {
  const { pool, leasePool, runs, logger, leaseMs } = options;
  const leader = createLeader({ pool: leasePool, leaseMs, logger, onLead: sweepNow });
  const wakeTimer = createWakeTimer({ ...options, isLeader: () => leader.leads });
  const repairs = createRepairs(options);
  const withheldRuns = createWithheldRuns(pool);
  let timer: NodeJS.Timeout | undefined;
  let started = false;
  let stopped = false;
  let round = 0;
  let running: Promise<void> = Promise.resolve();
  let dispatching = false;
  /** Whether a dispatch was asked for since the current one began. */
  let isDispatchAsked = false;
  const stats = {
    leads: false,
    tasks: new Map<string, TaskStats>(),
    repairs: repairs.stats.repairs,
    get forgotten() {
      return repairs.stats.forgotten;
    },
  };

  function start(): void {
    started = true;
    running = tick();
  }

  /** Runs a round at once in a process that has just taken the lead: a round under way began before that, and did nothing. */
  function sweepNow(): void {
    if (!started || stopped) return;
    clearTimeout(timer);
    running = running.then(() => {
      clearTimeout(timer);
      if (!stopped) running = tick();
    });
  }

  async function tick(): Promise<void> {
    try {
      await once();
      const { rows } = await pool.query<{ waiting: boolean }>({ name: 'has_waiting_runs', text: HAS_WAITING });
      options.onPressure(rows[0]?.waiting ?? false);
    } catch (error) {
      logger.warn({ err: error }, 'sweep failed; the next one tries again');
    }
    if (!stopped) timer = setTimeout(start, 1000);
  }

  async function once(): Promise<void> {
    const { leads, mayExpire } = await leader.tick();
    stats.leads = leads;
    if (!leads) return;
    round += 1;
    const tasks: readonly SweepTask[] = [
      { name: 'end leases', isDue: mayExpire, run: repairs.endLeases },
      { name: 'release lost runs', run: repairs.releaseLost },
      { name: 'fail lost runs', run: repairs.failLost },
      { name: 'wake due runs', run: () => wakeTimer.fireDue() },
      { name: 'end overdue runs', run: repairs.endOverdue },
      { name: 'act on notices', run: repairs.processOutbox },
      { name: 'tell of events', run: () => options.events.tellForgotten() },
      { name: 'advance maps', run: repairs.advanceMaps },
      { name: 'hand over again', run: repairs.dispatchAgain },
      { name: 'repair', isDue: round % 10 === 1, run: repairs.restoreQueues },
      { name: 'keep runs of paused workflows', run: () => withheldRuns.withholdRuns() },
      { name: 'let go on after pauses', run: () => withheldRuns.release() },
      { name: 'refill', run: () => runs.dispatchQueued() },
      { name: 'look for forgotten runs', run: repairs.searchForgotten },
    ];
    for (const { name, isDue = true, run } of tasks) {
      if (!isDue) continue;
      const taskStats = stats.tasks.get(name) ?? { times: 0, failures: 0, seconds: 0 };
      stats.tasks.set(name, taskStats);
      const began = performance.now();
      try {
        await run();
      } catch (error) {
        taskStats.failures += 1;
        logger.warn({ err: error, step: name }, 'a step of the sweep failed; the next round tries again');
      }
      taskStats.times += 1;
      taskStats.seconds += (performance.now() - began) / 1000;
    }
  }

  function dispatchSoon(): void {
    if (dispatching || stopped) {
      isDispatchAsked = true;
      return;
    }
    dispatching = true;
    isDispatchAsked = false;
    setTimeout(async () => {
      try {
        await runs.dispatchQueued();
      } catch (error) {
        logger.debug({ err: error }, 'dispatch is left to the sweep');
      }
      dispatching = false;
      if (isDispatchAsked) dispatchSoon();
    }, DISPATCH_MS);
  }

  return {
    start,
    once,
    dispatchSoon,
    stats,
    async [Symbol.asyncDispose]() {
      stopped = true;
      clearTimeout(timer);
      await running;
      await wakeTimer[Symbol.asyncDispose]();
      await leader[Symbol.asyncDispose]();
    },
  };
}
