import type { Load } from './leases.ts';

/**
 * Number of listeners that an owner is to have. All get the same number, and the remainder of the division goes to the owners that have
 * most now, one each; so as few listeners as possible move when an owner comes or goes.
 */
export function shareOf(ownerID: string, { wanted, owners }: Load): number {
  const inOrder = owners.toSorted((one, other) => other.owned - one.owned || (one.id < other.id ? -1 : 1));
  const rank = inOrder.findIndex(({ id }) => id === ownerID);
  if (rank < 0) return 0;
  return Math.floor(wanted / owners.length) + (rank < wanted % owners.length ? 1 : 0);
}
