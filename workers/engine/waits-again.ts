import type { Pool } from '#shared/db/pool.ts';
import type { Logger } from '#shared/logger.ts';
import { untilReachable } from '#shared/until-reachable.ts';
import type { ReadWaits, WaitRow } from './facts.ts';
import type { Run } from './run.ts';

export interface WaitsAgain {
  /** After a wake. If it fails, the next renewal of the lease tries again. */
  reread(run: Run): void;
  /** For a wait whose fact may be older than the wait, so that no wake would tell of it: the run does not go on without the answer. */
  readFirst(run: Run): void;
}

interface Dependencies {
  pool: Pool;
  readWaits: ReadWaits;
  logger: Logger;
  apply(run: Run, waits: WaitRow[]): void;
  /** The waits that come first could not be read. */
  onGivenUp(run: Run): void;
}

/** Reads the waits of runs that this process holds. */
export function createWaitsAgain({ pool, readWaits, logger, apply, onGivenUp }: Dependencies): WaitsAgain {
  /** Reads `wake_seq` before the waits: a wake between the two is noticed by the next commit. Only the row has the number. */
  async function read(run: Run): Promise<WaitRow[]> {
    // A wake may come while the run is still restored. What it tells of is applied to the restored waits.
    await run.begun;
    const { rows } = await pool.query<{ wake_seq: number }>('select wake_seq from workflow_instance where id = $1', [
      run.id,
    ]);
    const waits = await readWaits(run.id);
    run.see(rows[0]?.wake_seq ?? 0);
    return waits;
  }

  function applyRead(run: Run, waits: WaitRow[]): void {
    run.endReading();
    apply(run, waits);
  }

  return {
    reread(run) {
      run.beginReading();
      read(run)
        .catch((error) => {
          logger.warn({ err: error, instanceID: run.id }, 'waits not read; the next renewal of the lease tries again');
          return [];
        })
        .then((waits) => applyRead(run, waits))
        .catch((error) => logger.error({ err: error, instanceID: run.id }, 'waits not applied'));
    },
    readFirst(run) {
      untilReachable(() => read(run), { logger, signal: run.signal })
        .then((waits) => applyRead(run, waits))
        .catch((error) => {
          if (run.left) return;
          logger.warn({ err: error, instanceID: run.id }, 'waits not read; the run is left to another claim');
          onGivenUp(run);
        });
    },
  };
}
