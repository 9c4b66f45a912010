import type { OwnedRow } from '../lease/lease.ts';
import type { Run } from '../state/run.ts';

interface Dependencies {
  owned: ReadonlyMap<string, Run>;
  /** Whether a commit of the run is under way. */
  isBusy(run: Run): boolean;
  reread(run: Run): void;
  /** The database no longer names this lease as the owner of the run. */
  onLost(run: Run): void;
  /** Gives back runs that the database has for this lease but that this process does not own. */
  release(rows: readonly OwnedRow[]): Promise<void>;
}

/** Compares the runs that this process owns with those that the database has for its lease, read at `asOf` (ms). */
export type Reconcile = (rows: readonly OwnedRow[], asOf: number) => Promise<void>;

export function createReconcile({ owned, isBusy, reread, onLost, release }: Dependencies): Reconcile {
  const unknownBefore = new Map<string, number>();

  function compare(run: Run, row: OwnedRow | undefined, asOf: number): void {
    if (row?.epoch === run.epoch) {
      if (row.wake_seq > run.observedWakeSeq) reread(run);
    } else if (run.claimedAt < asOf && !isBusy(run)) onLost(run);
  }

  return async (rows, asOf) => {
    const mine = new Map(rows.map((row) => [row.id, row]));
    for (const run of owned.values()) compare(run, mine.get(run.id), asOf);
    const unknown = rows.filter(({ id, epoch }) => owned.get(id)?.epoch !== epoch);
    // Only runs that were found twice in a row: at the first time a claim or a release may have been under way.
    const lost = unknown.filter(({ id, epoch }) => unknownBefore.get(id) === epoch);
    unknownBefore.clear();
    for (const { id, epoch } of unknown) unknownBefore.set(id, epoch);
    if (lost.length > 0) await release(lost);
  };
}
