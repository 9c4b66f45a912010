import { retryUntilAvailable } from '#shared/concurrency/retry-until-available.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Run } from '../state/run.ts';
import type { ReadWaits, WaitRow } from './wait-results.ts';

export interface WaitsAgain {
  /** Reads the waits after a wake. If that fails, the next renewal of the lease tries again. */
  reread(run: Run): void;
  /** Reads the waits after a new one whose event may be older, so that no wake announces it. It is repeated until it succeeds or is given up. */
  readFirst(run: Run): void;
}

interface Dependencies {
  pool: Pool;
  /** Reads the waits that may be over. */
  readWaits: ReadWaits;
  logger: Logger;
  apply(run: Run, waits: WaitRow[]): void;
  /** A read by `readFirst` is given up: the run cannot go on in this process. */
  onGivenUp(run: Run): void;
}

/** Calls for one run, which its next read answers. */
interface Asked {
  calls: number;
  /** Whether `readFirst` is one of the calls, so that the read must succeed. */
  isFirst: boolean;
}

/** Reads the waits of runs that this process owns: one read of a run at a time, since thousands of children may end in a second. */
export function createWaitsAgain({ pool, readWaits, logger, apply, onGivenUp }: Dependencies): WaitsAgain {
  /** Calls for runs whose waits are being read. */
  const asked = new Map<Run, Asked>();

  /** Reads the waits, and `wake_seq` before them: a wake between the two reads then has a higher number, which the next commit notices. */
  async function read(run: Run): Promise<WaitRow[]> {
    // A wake may come while the run is still being restored. Its results are applied after that, to the restored waits.
    await run.begun;
    const { rows } = await pool.query<{ wake_seq: number }>('select wake_seq from workflow_instance where id = $1', [
      run.id,
    ]);
    const waits = await readWaits(run.id);
    run.observeWake(rows[0]?.wake_seq ?? 0);
    return waits;
  }

  /** Reads the waits once. Without an answer it returns none: the next renewal of the lease has them read again. */
  async function readOrSkip(run: Run): Promise<WaitRow[]> {
    try {
      return await read(run);
    } catch (error) {
      logger.warn({ err: error, instanceID: run.id }, 'waits not read; the next renewal of the lease tries again');
      return [];
    }
  }

  /** Reads the waits of a run and applies them, again and again until no further call has come during a read. */
  async function answerAll(run: Run): Promise<void> {
    for (let current = asked.get(run); current && current.calls > 0; current = asked.get(run)) {
      asked.set(run, { calls: 0, isFirst: false });
      const waits = current.isFirst
        ? await retryUntilAvailable(() => read(run), { logger, signal: run.signal })
        : await readOrSkip(run);
      for (let call = 0; call < current.calls; call += 1) run.endReading();
      tryToApply(run, waits);
    }
    asked.delete(run);
  }

  function tryToApply(run: Run, waits: WaitRow[]): void {
    try {
      apply(run, waits);
    } catch (error) {
      logger.error({ err: error, instanceID: run.id }, 'waits not applied');
    }
  }

  function ask(run: Run, isFirst: boolean): void {
    const before = asked.get(run);
    asked.set(run, { calls: (before?.calls ?? 0) + 1, isFirst: isFirst || (before?.isFirst ?? false) });
    if (before) return;
    answerAll(run).catch((error) => {
      asked.delete(run);
      if (run.releaseReason) return;
      logger.warn({ err: error, instanceID: run.id }, 'waits not read; the run is left to another claim');
      onGivenUp(run);
    });
  }

  return {
    reread(run) {
      run.beginReading();
      ask(run, false);
    },
    readFirst: (run) => ask(run, true),
  };
}
