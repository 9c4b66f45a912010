interface Lines<ID> {
  /** The sources of the edges that lead to a node. */
  sourcesOf(id: ID): Iterable<ID>;
  /** A node beyond which the search does not go. */
  stopAt?: ID | undefined;
}

/** The nodes from which edges lead to a node, directly or through others. */
export function nodesBefore<ID>(id: ID, { sourcesOf, stopAt }: Lines<ID>): ReadonlySet<ID> {
  const found = new Set(sourcesOf(id));
  // The set grows in the loop.
  for (const before of found) {
    if (before === stopAt) continue;
    for (const source of sourcesOf(before)) found.add(source);
  }
  return found;
}
