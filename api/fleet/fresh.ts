/** When it was read, so that each figure can say how old it is. */
export type Read<T> = T & { at: Date };

/** Reads at most once in this time for all who ask, as long as it is asked for. A failed read is not kept. */
export function readFresh<T extends object>(freshMs: number, read: () => Promise<T>): () => Promise<Read<T>> {
  let known: Promise<Read<T>> | undefined;
  let freshUntil = 0;

  async function readNow(): Promise<Read<T>> {
    const at = new Date();
    return { ...(await read()), at };
  }

  return () => {
    if (known && performance.now() < freshUntil) return known;
    freshUntil = performance.now() + freshMs;
    const reading = readNow();
    reading.catch(() => {
      if (known === reading) known = undefined;
    });
    known = reading;
    return reading;
  };
}
