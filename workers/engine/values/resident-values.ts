import { createShares, creatorOf } from '#shared/concurrency/dynamic-share.ts';
import type { Turn } from '#shared/concurrency/fair-queue.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { LARGE_LENGTH } from '../state/large-outputs.ts';
import type { PendingEvent } from '../state/pending-commit.ts';
import type { Run } from '../state/run.ts';
import type { Source } from '../state/source.ts';

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
  /** Whether the creator of a tenant has its share of the room, so that the tenant's next run would find none. */
  isOverShare(tenantID: string): boolean;
  readonly length: number;
}

/**
 * Room that a creator may have for what is still free, as with slots: four fifths if it is alone. So another creator's run finds room at
 * once, also while large runs of the first wait for silent servers.
 */
const SHARE = 4;

/** How long a run waits for room before another process may take it. */
export const PATIENCE_MS = 1_000;

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
  const shares = createShares(SHARE);
  /** By tenant, the run that found no room last because its creator had its share. */
  const refused = new Map<string, { turn: Turn; length: number; at: number }>();
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
  function share({ chunk, turn }: Run, change: 1 | -1): void {
    if (!chunk) return;
    const { scope, scopeLength } = chunk;
    const before = around.get(scope) ?? 0;
    const now = before + change;
    if (now === 0) around.delete(scope);
    else around.set(scope, now);
    if (before > 0 && now > 0) return;
    aroundLength += change * scopeLength;
    shares.count(turn, change * scopeLength);
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

  function add({ turn }: Run, length: number): void {
    heldLength += length;
    shares.count(turn, length);
  }

  function hold(run: Run, length: number): void {
    if (!held.has(run)) share(run, 1);
    add(run, length - (held.get(run) ?? 0));
    held.set(run, length);
    trim();
  }

  function admit(run: Run, length: number): void {
    entered.set(run, length);
    hold(run, length);
  }

  /** Whether a creator has its share already, beside others or, if there is no room for the run beside them, alone. */
  function hasShare(turn: Turn, length: number): boolean {
    const beside = maxLength - total() - length;
    return shares.isExhausted(turn, beside < 0 ? maxLength - shares.of(turn) - length : beside);
  }

  /** What a run takes with what is around it, if that is not held already. */
  function lengthWithScope({ run: { chunk }, length }: Entrant): number {
    return length + (chunk && !around.has(chunk.scope) ? chunk.scopeLength : 0);
  }

  /** In order, so that a large run is not passed by small ones, but for those of other creators if its own has its share. */
  function nextEntrant(): Entrant | undefined {
    const passed = new Set<string>();
    for (const entrant of entrants) {
      const { turn } = entrant.run;
      if (passed.has(creatorOf(turn))) continue;
      if (!hasShare(turn, lengthWithScope(entrant))) return entrant;
      passed.add(creatorOf(turn));
    }
    return undefined;
  }

  function admitEntrants(): void {
    for (let next = nextEntrant(); next; next = nextEntrant()) {
      if (held.size > 0 && total() + lengthWithScope(next) > maxLength) return;
      entrants.splice(entrants.indexOf(next), 1);
      admit(next.run, next.length);
      next.resolve(true);
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
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const entrant = { run, length, resolve };
      entrants.push(entrant);
      admitEntrants();
      const { turn } = run;
      const asked = lengthWithScope(entrant);
      if (entrants.includes(entrant) && hasShare(turn, asked))
        refused.set(turn.tenantID, { turn, length: asked, at: performance.now() });
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
      add(run, -(held.get(run) ?? 0));
      held.delete(run);
      entered.delete(run);
      if (shares.of(run.turn) === 0) refused.delete(run.turn.tenantID);
      if (run.state.hasApart) for (const [source, owner] of values) if (owner === run) forget(source);
      refuse(run);
    },
    mustMakeRoom(run) {
      return total() > maxLength && held.size > 1 && (held.get(run) ?? 0) * held.size >= heldLength;
    },
    get isFull() {
      return nextEntrant() !== undefined || total() > maxLength;
    },
    isOverShare(tenantID) {
      const last = refused.get(tenantID);
      // Another run, which may be smaller, is tried after the time for which that one has waited.
      return last !== undefined && performance.now() < last.at + PATIENCE_MS && hasShare(last.turn, last.length);
    },
    get length() {
      return total() + valuesLength;
    },
  };
}
