import { COMMIT, COMMIT_AND_BRIEFS, COMMIT_AND_WAITS, COMMIT_ONE } from './sql.ts';
import { batchValues, briefValues, type Entry, hasLarge, isPlain, singleValues, staysOwned } from './values.ts';
import { waitValues } from './wait-values.ts';

/** A row that the statements return for each run that they have updated. */
export interface CommitRow {
  id: string;
  wake_seq: number;
  watched: boolean;
  ready: boolean;
  awaited_by: string | null;
  /** The time of the events. */
  at: Date;
}

interface Statement {
  name: string;
  text: string;
  values: unknown[];
}

/** The statement that commits a batch: most have no waits, and a run that is alone in its batch and goes on has a cheaper one. */
export function statementOf(batch: readonly Entry[], leaseID: string): Statement {
  if (!batch.every(isPlain)) {
    const values = [...batchValues(batch, leaseID), ...waitValues(batch)];
    return batch.some(hasLarge)
      ? { name: 'commit_steps_and_briefs', text: COMMIT_AND_BRIEFS, values: [...values, briefValues(batch)] }
      : { name: 'commit_steps_and_waits', text: COMMIT_AND_WAITS, values };
  }
  const [entry] = batch;
  const [event] = entry?.pending.events ?? [];
  if (entry && event && batch.length === 1 && entry.pending.events.length === 1 && staysOwned(entry))
    return { name: 'commit_one_step', text: COMMIT_ONE, values: singleValues(entry, event, leaseID) };
  return { name: 'commit_steps', text: COMMIT, values: batchValues(batch, leaseID) };
}
