/**
 * Handles items together, and finds the one that causes a refusal: `attempt` returns the error if one of its items may have caused it,
 * and undefined otherwise. After an error it is called with halves, until the refused item is alone and is given to `refuse`.
 */
export async function bisect<T>(
  items: readonly T[],
  attempt: (items: readonly T[]) => Promise<unknown>,
  refuse: (item: T, error: unknown) => void,
): Promise<void> {
  const [first] = items;
  if (first === undefined) return;
  const error = await attempt(items);
  if (error === undefined) return;
  if (items.length === 1) return refuse(first, error);
  const middle = items.length >> 1;
  await bisect(items.slice(0, middle), attempt, refuse);
  await bisect(items.slice(middle), attempt, refuse);
}
