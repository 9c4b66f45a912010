import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Entry } from './values.ts';

const AGAIN_MS = 250;

/** Reads the rows of runs, and tries again until Postgres answers: only the rows tell whether the runs were committed or lost. */
export async function readStates(pool: Pool, entries: readonly Entry[], logger: Logger): Promise<StateRow[]> {
  for (;;) {
    try {
      const { rows } = await pool.query<StateRow>(
        'select id, epoch, seq, held_by, wake_seq, status, awaited_by from workflow_instance where id = any($1::uuid[])',
        [entries.map(({ run }) => run.id)],
      );
      return rows;
    } catch (error) {
      logger.warn({ err: error, runs: entries.length }, 'runs are read again');
      await sleep(AGAIN_MS);
    }
  }
}

/**
 * Finds out from the row of a run what became of its commit. The epoch alone does not tell who owns the run: a claim that Postgres forgot in
 * a crash is made again under the same epoch, perhaps by another worker.
 */
export function stateOf({ run, pending, fromSeq, toSeq }: Entry, row: StateRow | undefined, leaseID: string) {
  if (row?.epoch !== run.epoch) return 'fenced';
  const isReleased = pending.end !== null || pending.release !== 'none';
  if (row.seq >= toSeq && toSeq > fromSeq && row.held_by === (isReleased ? null : leaseID)) return 'committed';
  // The row is unchanged if the statement has skipped it, because another transaction had locked it.
  return row.seq === fromSeq && row.held_by === leaseID ? 'locked' : 'fenced';
}

export interface StateRow {
  id: string;
  epoch: number;
  seq: number;
  held_by: string | null;
  wake_seq: number;
  status: string;
  awaited_by: string | null;
}
