/** Tracks events that are done in any order. `keep` gets the position of the last event before the first that is not done. */
export function createCursor<T>(keep: (at: T) => void): { begin(at: T): () => void } {
  const entries: { at: T; isDone: boolean }[] = [];
  return {
    begin(at) {
      const entry = { at, isDone: false };
      entries.push(entry);
      return () => {
        entry.isDone = true;
        let last: { at: T } | undefined;
        while (entries[0]?.isDone) last = entries.shift();
        if (last) keep(last.at);
      };
    },
  };
}
