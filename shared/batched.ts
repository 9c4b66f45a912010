import { apart } from './work.ts';

interface Waiting<In, Out> {
  item: In;
  resolve: (out: Out) => void;
  reject: (error: unknown) => void;
}

/** Whether an error may be the fault of one item, so that the others succeed without it. */
export type IsFaultOfOne = (error: unknown) => boolean;

/**
 * Calls made in the same turn of the event loop, or while an earlier batch is under way, share one call of `work`. If `work` fails
 * with the fault of one item, it is called with halves until that item is alone; with any other error the whole batch fails.
 */
export function batched<In, Out>(
  work: (items: In[]) => Promise<Out[]>,
  isFaultOfOne: IsFaultOfOne = () => false,
): (item: In) => Promise<Out> {
  const waiting: Waiting<In, Out>[] = [];
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) await attempt(waiting.splice(0, 500));
    running = false;
  }

  async function attempt(batch: Waiting<In, Out>[]): Promise<void> {
    try {
      const results = await work(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => {
        resolve(results[index] as Out);
      });
    } catch (error) {
      if (batch.length === 1 || !isFaultOfOne(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      const middle = batch.length >> 1;
      await attempt(batch.slice(0, middle));
      await attempt(batch.slice(middle));
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!running) void apart(drain);
    });
}
