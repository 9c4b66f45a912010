/**
 * Reads many items by several requests at once, so that no part waits for a slow one. `from` is the place of a part's first item among all.
 * Rejects if a part does, after the others have ended.
 */
export async function readInParts<T>(
  items: readonly T[],
  most: number,
  read: (part: readonly T[], from: number) => Promise<void>,
): Promise<void> {
  const starts = Array.from({ length: Math.ceil(items.length / most) }, (_, at) => at * most);
  const ends = await Promise.allSettled(starts.map((from) => read(items.slice(from, from + most), from)));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
