import type { Turn } from './fair-queue.ts';

/**
 * Limits each creator to as many places as are still free, times `perFree`. Of `n` places one creator gets half, two get a third each,
 * and a creator who comes later finds a place at once, however many tenants the others made and however long their work takes.
 * (Networks share packet buffers in this way: "dynamic thresholds".) With 4 for each free one, a creator alone gets four fifths.
 */
export interface Shares {
  /**
   * Whether the creator has used up its share, without the places of `leaving`; `free` is the number of free places. A first place is
   * always allowed.
   */
  isExhausted(turn: Turn, free: number, leaving?: readonly Turn[]): boolean;
  count(turn: Turn, change: number): void;
  /** What the creator has. */
  of(turn: Turn): number;
}

export function createShares(perFree = 1): Shares {
  const byCreator = new Map<string, number>();

  return {
    isExhausted(turn, free, leaving = []) {
      const creator = creatorOf(turn);
      let held = byCreator.get(creator) ?? 0;
      for (const one of leaving) if (creatorOf(one) === creator) held -= 1;
      return held >= Math.max(free * perFree, 1);
    },
    count(turn, change) {
      const creator = creatorOf(turn);
      const held = (byCreator.get(creator) ?? 0) + change;
      if (held > 0) byCreator.set(creator, held);
      else byCreator.delete(creator);
    },
    of: (turn) => byCreator.get(creatorOf(turn)) ?? 0,
  };
}

export function creatorOf({ tenantID, creatorID = tenantID }: Turn): string {
  return creatorID;
}
