/** A reading with its time, so that each figure can say how old it is. */
export type Read<T> = T & { at: Date };

/** Shares one reading among all callers for `freshMs`; nothing is read without a caller. A failed reading is not shared. */
export function readFresh<T extends object>(freshMs: number, read: () => Promise<T>): () => Promise<Read<T>> {
  let latest: Promise<Read<T>> | undefined;
  let freshUntil = 0;

  async function readNow(): Promise<Read<T>> {
    const at = new Date();
    return { ...(await read()), at };
  }

  return () => {
    if (latest && performance.now() < freshUntil) return latest;
    freshUntil = performance.now() + freshMs;
    const reading = readNow();
    reading.catch(() => {
      if (latest === reading) latest = undefined;
    });
    latest = reading;
    return reading;
  };
}
