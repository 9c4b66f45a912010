import type { Turn } from './turns.ts';

/**
 * Limits each creator to as many places as are still free, times `perFree`. Of `n` places one creator gets half, two get a third each,
 * and a creator who comes later finds a place at once, however many tenants the others made and however long their work takes.
 * (Networks share packet buffers in this way: "dynamic thresholds".) With 4 for each free one, a creator alone gets four fifths.
 */
export interface Shares {
  /** Whether the creator has used up its share; `free` is the number of free places. A first place is always allowed. */
  isExhausted(turn: Turn, free: number): boolean;
  count(turn: Turn, change: number): void;
}

export function createShares(perFree = 1): Shares {
  const byCreator = new Map<string, number>();

  return {
    isExhausted: ({ tenantID, creatorID = tenantID }, free) =>
      (byCreator.get(creatorID) ?? 0) >= Math.max(free * perFree, 1),
    count({ tenantID, creatorID = tenantID }, change) {
      const held = (byCreator.get(creatorID) ?? 0) + change;
      if (held > 0) byCreator.set(creatorID, held);
      else byCreator.delete(creatorID);
    },
  };
}
