/** Numbers that follow from a seed alone. */
export interface Random {
  /** From 0 up to, but without, 1. */
  next(): number;
  /** A whole number, both ends included. */
  between(min: number, max: number): number;
  pick<T>(items: readonly [T, ...T[]]): T;
}

/** Mulberry32: small, and good enough to choose faults. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  return {
    next,
    between: (min, max) => min + Math.floor(next() * (max - min + 1)),
    pick: (items) => items[Math.floor(next() * items.length)] ?? items[0],
  };
}
