import { retryUntilAvailable } from '#shared/concurrency/retry-until-available.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Run } from '../state/run.ts';
import type { ReadWaits, WaitRow } from './wait-results.ts';

export interface WaitsAgain {
  /** After a wake. If it fails, the next renewal of the lease tries again. */
  reread(run: Run): void;
  /** For a wait whose result may be older than the wait, so that no wake would tell of it: the run does not go on without the answer. */
  readFirst(run: Run): void;
}

interface Dependencies {
  pool: Pool;
  /** Reads the waits that may be over. */
  readWaits: ReadWaits;
  logger: Logger;
  apply(run: Run, waits: WaitRow[]): void;
  /** The waits that come first could not be read. */
  onGivenUp(run: Run): void;
}

/** Calls that the next read of a run answers. */
interface Asked {
  calls: number;
  /** Whether the run does not go on without the answer. */
  isFirst: boolean;
}

/** Reads the waits of runs that this process holds: one read of a run at a time, since thousands of children may end in a second. */
export function createWaitsAgain({ pool, readWaits, logger, apply, onGivenUp }: Dependencies): WaitsAgain {
  /** Calls for runs whose waits are being read. */
  const asked = new Map<Run, Asked>();

  /** Reads `wake_seq` before the waits: a wake between the two is noticed by the next commit. Only the row has the number. */
  async function read(run: Run): Promise<WaitRow[]> {
    // A wake may come while the run is still restored. What it tells of is applied to the restored waits.
    await run.begun;
    const { rows } = await pool.query<{ wake_seq: number }>('select wake_seq from workflow_instance where id = $1', [
      run.id,
    ]);
    const waits = await readWaits(run.id);
    run.observeWake(rows[0]?.wake_seq ?? 0);
    return waits;
  }

  async function readLater(run: Run): Promise<WaitRow[]> {
    try {
      return await read(run);
    } catch (error) {
      logger.warn({ err: error, instanceID: run.id }, 'waits not read; the next renewal of the lease tries again');
      return [];
    }
  }

  /** Reads until no call came during the last read. */
  async function answerAll(run: Run): Promise<void> {
    for (let now = asked.get(run); now && now.calls > 0; now = asked.get(run)) {
      asked.set(run, { calls: 0, isFirst: false });
      const waits = now.isFirst
        ? await retryUntilAvailable(() => read(run), { logger, signal: run.signal })
        : await readLater(run);
      for (let call = 0; call < now.calls; call += 1) run.endReading();
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
