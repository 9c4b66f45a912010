import { CountMap } from '../core/count-map.ts';
import type { FlowKey } from './fair-queue.ts';

/**
 * Limits each creator to `alpha` times as many permits as are still free. With 1, one creator gets half of `n` permits, two get a third
 * each, and a creator who comes later finds a permit at once, however many tenants the others made and however long their work takes.
 * (Networks share packet buffers in this way: "dynamic thresholds".) With 4, a creator alone gets four fifths.
 */
export interface DynamicLimit {
  /**
   * Whether the creator has reached the limit. Permits of `released` do not count as used; `free` is the number of free permits. A first
   * permit is always allowed.
   */
  isReached(flow: FlowKey, free: number, released?: readonly FlowKey[]): boolean;
  count(flow: FlowKey, change: number): void;
  /** Permits of the creator. */
  usedBy(flow: FlowKey): number;
}

export function createDynamicLimit(alpha = 1): DynamicLimit {
  const byCreator = new CountMap();

  return {
    isReached(flow, free, released = []) {
      const creator = creatorOf(flow);
      let used = byCreator.of(creator);
      for (const other of released) if (creatorOf(other) === creator) used -= 1;
      return used >= Math.max(free * alpha, 1);
    },
    count: (flow, change) => byCreator.add(creatorOf(flow), change),
    usedBy: (flow) => byCreator.of(creatorOf(flow)),
  };
}

export function creatorOf({ tenantID, creatorID = tenantID }: FlowKey): string {
  return creatorID;
}
