/** Counts of a rate limit that one process knows, for use while the store is away. */
export interface LocalCount {
  /** Remembers the store's count of a key, over all processes. */
  learn(key: string, counted: Counted): void;
  /** Counts locally, on top of the known count. These points are owed to the store. */
  add(key: string, points: number): Counted;
  /** Takes the points that are owed to the store, for the caller to add there. */
  takeOwed(key: string): number;
  /** Puts back points that could not be added to the store. */
  owe(key: string, points: number): void;
  forget(key: string): void;
}

export interface Counted {
  consumedPoints: number;
  msBeforeNext: number;
}

interface KeyCount {
  consumed: number;
  owed: number;
  until: number;
}

export function createLocalCount(seconds: number): LocalCount {
  const counts = new Map<string, KeyCount>();
  let cleanAt = 0;

  /** Undefined if the known count has expired. */
  function current(key: string): KeyCount | undefined {
    const found = counts.get(key);
    if (found && found.until > performance.now()) return found;
    counts.delete(key);
    return undefined;
  }

  /** Removes the expired counts of unused keys, once per period of the limit. */
  function clean(now: number): void {
    if (now < cleanAt) return;
    cleanAt = now + seconds * 1000;
    for (const [key, { until }] of counts) if (until <= now) counts.delete(key);
  }

  return {
    learn(key, { consumedPoints, msBeforeNext }) {
      const now = performance.now();
      clean(now);
      const owed = current(key)?.owed ?? 0;
      counts.set(key, { consumed: consumedPoints + owed, owed, until: now + msBeforeNext });
    },
    add(key, points) {
      const now = performance.now();
      clean(now);
      const before = current(key) ?? { consumed: 0, owed: 0, until: now + seconds * 1000 };
      const { consumed, owed, until } = before;
      counts.set(key, { consumed: consumed + points, owed: owed + points, until });
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
      counts.delete(key);
    },
  };
}
