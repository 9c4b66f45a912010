/** Calls made in the same turn of the event loop, or while an earlier batch is under way, share one call of `work`. */
export function batched<In, Out>(work: (items: In[]) => Promise<Out[]>): (item: In) => Promise<Out> {
  const waiting: { item: In; resolve: (out: Out) => void; reject: (error: unknown) => void }[] = [];
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const batch = waiting.splice(0, 500);
      try {
        const results = await work(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => {
          resolve(results[index] as Out);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!running) void drain();
    });
}
