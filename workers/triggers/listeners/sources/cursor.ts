/** Moves on over events that are done in any order: only to the one before the first that is not. */
export function createCursor<T>(keep: (at: T) => void): { begin(at: T): () => void } {
  const line: { at: T; isDone: boolean }[] = [];
  return {
    begin(at) {
      const place = { at, isDone: false };
      line.push(place);
      return () => {
        place.isDone = true;
        let last: { at: T } | undefined;
        while (line[0]?.isDone) last = line.shift();
        if (last) keep(last.at);
      };
    },
  };
}
