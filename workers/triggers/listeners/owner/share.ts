import type { Load } from './leases.ts';

/**
 * How many listeners an owner is to have. Each has the same number, and the owners with the most have one more while the division
 * leaves a rest; so as few as possible move when an owner comes or goes.
 */
export function shareOf(ownerID: string, { wanted, owners }: Load): number {
  const inOrder = owners.toSorted((one, other) => other.owned - one.owned || (one.id < other.id ? -1 : 1));
  const rank = inOrder.findIndex(({ id }) => id === ownerID);
  if (rank < 0) return 0;
  return Math.floor(wanted / owners.length) + (rank < wanted % owners.length ? 1 : 0);
}
