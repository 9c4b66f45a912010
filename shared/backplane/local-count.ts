/** What one process knows of the counts of a limit, for when it cannot ask. */
export interface LocalCount {
  /** What the store has counted for a key, over all processes. */
  learn(key: string, counted: Counted): void;
  /** Counts here alone, on top of what is known; the store is owed these points. */
  add(key: string, points: number): Counted;
  /** The points that the store does not know of yet; whoever takes them tells it. */
  takeOwed(key: string): number;
  /** Gives back what the store could not be told. */
  owe(key: string, points: number): void;
  forget(key: string): void;
}

export interface Counted {
  consumedPoints: number;
  msBeforeNext: number;
}

interface Known {
  consumed: number;
  owed: number;
  until: number;
}

export function createLocalCount(seconds: number): LocalCount {
  const known = new Map<string, Known>();
  let cleanAt = 0;

  /** Undefined when the time of what was known is over. */
  function current(key: string): Known | undefined {
    const found = known.get(key);
    if (found && found.until > performance.now()) return found;
    known.delete(key);
    return undefined;
  }

  /** Once in the time of the limit, so that keys nobody uses any more do not stay. */
  function clean(now: number): void {
    if (now < cleanAt) return;
    cleanAt = now + seconds * 1000;
    for (const [key, { until }] of known) if (until <= now) known.delete(key);
  }

  return {
    learn(key, { consumedPoints, msBeforeNext }) {
      const now = performance.now();
      clean(now);
      const owed = current(key)?.owed ?? 0;
      known.set(key, { consumed: consumedPoints + owed, owed, until: now + msBeforeNext });
    },
    add(key, points) {
      const now = performance.now();
      clean(now);
      const before = current(key) ?? { consumed: 0, owed: 0, until: now + seconds * 1000 };
      const { consumed, owed, until } = before;
      known.set(key, { consumed: consumed + points, owed: owed + points, until });
      return { consumedPoints: consumed + points, msBeforeNext: Math.round(until - now) };
    },
    takeOwed(key) {
      const found = current(key);
      if (!found) return 0;
      const { owed } = found;
      found.owed = 0;
      return owed;
    },
    owe(key, points) {
      const found = current(key);
      if (found) found.owed += points;
    },
    forget(key) {
      known.delete(key);
    },
  };
}
