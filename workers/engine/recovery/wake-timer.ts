import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Runs } from '#shared/runs/runs.ts';

/** How far ahead due waits are looked for: longer than the second between two rounds of the sweep. */
const AHEAD_MS = 1500;
/** Runs woken by one statement. */
const BATCH = 500;
/** Waits that end within this time are ended by one statement. */
const GROUP_MS = 20;

export interface WakeTimer extends AsyncDisposable {
  /** Wakes the runs whose waits are over, and sets the timer for the next wait that ends. */
  fireDue(): Promise<void>;
}

interface WakeTimerOptions {
  pool: Pool;
  runs: Runs;
  logger: Logger;
  /** Asked when the timer fires: a process that no longer leads wakes nothing. */
  isLeader(): boolean;
}

/**
 * Wakes parked runs when their time has come. It remembers nothing about them: it sleeps until the next one is due and asks Postgres
 * again, so any number of waits may end at once.
 */
export function createWakeTimer({ pool, runs, logger, isLeader }: WakeTimerOptions): WakeTimer {
  let timer: NodeJS.Timeout | undefined;
  let firing: Promise<void> | undefined;
  let stopped = false;

  function fireDue(): Promise<void> {
    firing ??= wakeDue().finally(() => {
      firing = undefined;
    });
    return firing;
  }

  async function wakeDue(): Promise<void> {
    clearTimeout(timer);
    for (;;) {
      const { rows } = await pool.query<{ id: string; in_ms: number }>({
        name: 'sweep_find_due_runs',
        text: FIND_DUE,
        values: [AHEAD_MS / 1000, BATCH],
      });
      const readAt = performance.now();
      const due = rows.filter(({ in_ms }) => in_ms <= 0);
      if (due.length > 0) await runs.wake(due.map(({ id }) => id));
      const next = rows[due.length];
      if (next) return setTimer(next.in_ms + readAt - performance.now());
      if (rows.length < BATCH || stopped) return;
    }
  }

  function setTimer(inMs: number): void {
    if (stopped) return;
    const wake = () => {
      if (isLeader()) fireDue().catch((error) => logger.debug({ err: error }, 'wakes are left to the sweep'));
    };
    timer = setTimeout(wake, Math.max(inMs, GROUP_MS));
  }

  return {
    fireDue,
    async [Symbol.asyncDispose]() {
      stopped = true;
      clearTimeout(timer);
      await firing?.catch(() => undefined);
    },
  };
}

const FIND_DUE = `
select id, extract(epoch from wake_at - clock_timestamp())::float8 * 1000 as in_ms from workflow_instance
where wake_at <= now() + make_interval(secs => $1) and ready_at is null and held_by is null and completed_at is null
order by wake_at limit $2`;
