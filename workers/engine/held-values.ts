import type { Run } from './run.ts';
import type { Source } from './source.ts';
import type { PendingEvent } from './step.ts';

/** What the runs of a process hold in memory, in characters of JSON text. */
export interface HeldValues {
  /** Takes note of what a run holds by now: its values, and those of large outputs that a commit has written. */
  count(run: Run, committed?: readonly Pick<PendingEvent, 'source'>[]): void;
  /** Keeps the value of a large output that was read, for the next node that names it. */
  keep(run: Run, source: Source): void;
  /** Forgets a run that has left. */
  drop(run: Run): void;
  /** Whether a run has to make room for others: too much is held, and this run holds its share of it or more. */
  mustMakeRoom(run: Run): boolean;
  /** Too much is held to take another run. */
  readonly isFull: boolean;
  readonly length: number;
}

/**
 * Bounds what held runs have in memory. Values of large outputs stay while there is room, those that were used last the longest; without
 * them a node reads the value from its row. What else runs hold cannot be dropped: a process that holds too much takes no further run
 * and hands back its largest ones between two of their nodes, but for the last.
 */
export function createHeldValues(maxLength: number): HeldValues {
  const held = new Map<Run, number>();
  let heldLength = 0;
  /** The one that was used last comes last. */
  const values = new Map<Source, Run>();
  let valuesLength = 0;

  function forget(source: Source): void {
    if (!values.delete(source)) return;
    valuesLength -= source.length;
    source.value = undefined;
  }

  function trim(): void {
    for (const source of values.keys()) {
      if (heldLength + valuesLength <= maxLength) return;
      forget(source);
    }
  }

  function keep(run: Run, source: Source): void {
    if (run.left !== null) {
      source.value = undefined;
      return;
    }
    if (values.delete(source)) valuesLength -= source.length;
    values.set(source, run);
    valuesLength += source.length;
    trim();
  }

  return {
    keep,
    count(run, committed = []) {
      for (const { source } of committed) {
        if (!source?.large) continue;
        run.state.letGo(source);
        if (source.uses > 0) keep(run, source);
        else source.value = undefined;
      }
      const { heldLength: length } = run.state;
      heldLength += length - (held.get(run) ?? 0);
      held.set(run, length);
      trim();
    },
    drop(run) {
      heldLength -= held.get(run) ?? 0;
      held.delete(run);
      if (run.state.hasApart) for (const [source, owner] of values) if (owner === run) forget(source);
    },
    mustMakeRoom(run) {
      return heldLength > maxLength && held.size > 1 && (held.get(run) ?? 0) * held.size >= heldLength;
    },
    get isFull() {
      return heldLength > maxLength;
    },
    get length() {
      return heldLength + valuesLength;
    },
  };
}
