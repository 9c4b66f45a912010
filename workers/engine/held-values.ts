import type { JsonObject } from '#shared/json.ts';
import { LARGE_LENGTH } from './large-outputs.ts';
import type { Run } from './run.ts';
import type { Source } from './source.ts';
import type { PendingEvent } from './step.ts';

/** What the runs of a process hold in memory, in characters of JSON text. */
export interface HeldValues {
  /**
   * Waits until there is room for a run with what it takes in memory as far as that is known, and with one more output. False: there is
   * none by the end of its patience, or the run has left. A run alone has room.
   */
  enter(run: Run, length: number): Promise<boolean>;
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

/** How long a run waits for room before another process may take it. */
const PATIENCE_MS = 1_000;

interface Entrant {
  run: Run;
  length: number;
  resolve(hasRoom: boolean): void;
}

/**
 * Bounds what held runs have in memory. Values of large outputs stay while there is room, those that were used last the longest; without
 * them a node reads the value from its row. What else runs hold cannot be dropped: a process that holds too much takes no further run
 * and hands back its largest ones between two of their nodes, but for the last.
 */
export function createHeldValues(maxLength: number): HeldValues {
  const held = new Map<Run, number>();
  /** What runs had when they entered, and room for one more output. */
  const entered = new Map<Run, number>();
  const entrants: Entrant[] = [];
  let heldLength = 0;
  /** What is around maps, with the number of their chunks that are held: they share it. */
  const around = new Map<JsonObject, number>();
  let aroundLength = 0;
  /** The one that was used last comes last. */
  const values = new Map<Source, Run>();
  let valuesLength = 0;

  function forget(source: Source): void {
    if (!values.delete(source)) return;
    valuesLength -= source.length;
    source.value = undefined;
  }

  function total(): number {
    return heldLength + aroundLength;
  }

  /** Takes note that one chunk more, or less, of a map is held. */
  function share({ chunk }: Run, change: 1 | -1): void {
    if (!chunk) return;
    const { scope, scopeLength } = chunk;
    const before = around.get(scope) ?? 0;
    const now = before + change;
    if (before === 0) aroundLength += scopeLength;
    if (now === 0) aroundLength -= scopeLength;
    if (now === 0) around.delete(scope);
    else around.set(scope, now);
  }

  function trim(): void {
    for (const source of values.keys()) {
      if (total() + valuesLength <= maxLength) return;
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

  function hold(run: Run, length: number): void {
    if (!held.has(run)) share(run, 1);
    heldLength += length - (held.get(run) ?? 0);
    held.set(run, length);
    trim();
  }

  function admit(run: Run, length: number): void {
    entered.set(run, length);
    hold(run, length);
  }

  function hasRoom({ chunk }: Run, length: number): boolean {
    const more = chunk && !around.has(chunk.scope) ? chunk.scopeLength : 0;
    return held.size === 0 || total() + length + more <= maxLength;
  }

  /** In order: a large run is not passed by small ones. */
  function admitEntrants(): void {
    for (let [first] = entrants; first && hasRoom(first.run, first.length); [first] = entrants) {
      entrants.shift();
      admit(first.run, first.length);
      first.resolve(true);
    }
  }

  function refuse(run: Run): void {
    const at = entrants.findIndex((entrant) => entrant.run === run);
    const [entrant] = at < 0 ? [] : entrants.splice(at, 1);
    entrant?.resolve(false);
    admitEntrants();
  }

  return {
    keep,
    async enter(run, known) {
      const length = known + LARGE_LENGTH;
      if (entrants.length === 0 && hasRoom(run, length)) {
        admit(run, length);
        return true;
      }
      const { promise, resolve } = Promise.withResolvers<boolean>();
      entrants.push({ run, length, resolve });
      const timer = setTimeout(() => refuse(run), PATIENCE_MS);
      const isAdmitted = await promise;
      clearTimeout(timer);
      return isAdmitted;
    },
    count(run, committed = []) {
      for (const { source } of committed) {
        if (!source?.large) continue;
        run.state.letGo(source);
        if (source.uses > 0) keep(run, source);
        else source.value = undefined;
      }
      hold(run, Math.max(run.state.heldLength, entered.get(run) ?? 0));
      admitEntrants();
    },
    drop(run) {
      if (held.has(run)) share(run, -1);
      heldLength -= held.get(run) ?? 0;
      held.delete(run);
      entered.delete(run);
      if (run.state.hasApart) for (const [source, owner] of values) if (owner === run) forget(source);
      refuse(run);
    },
    mustMakeRoom(run) {
      return total() > maxLength && held.size > 1 && (held.get(run) ?? 0) * held.size >= heldLength;
    },
    get isFull() {
      return entrants.length > 0 || total() > maxLength;
    },
    get length() {
      return total() + valuesLength;
    },
  };
}
