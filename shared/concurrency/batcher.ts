import { createFairQueue, type FlowKey } from './fair-queue.ts';
import { runDetached } from './work-context.ts';

interface Waiting<In, Out> {
  item: In;
  resolve: (out: Out) => void;
  reject: (error: unknown) => void;
}

/** Whether an error may be the fault of one item, so that the others succeed without it. */
export type IsFaultOfOne = (error: unknown) => boolean;

type Work<In, Out> = (items: In[]) => Promise<Out[]>;

/** Items of one call. */
const MAX_ITEMS = 500;

/**
 * Calls made in the same turn of the event loop, or while an earlier batch is under way, share one call of `work`. If `work` fails
 * with the fault of one item, it is called with halves until that item is alone; with any other error the whole batch fails.
 */
export function batched<In, Out>(
  work: Work<In, Out>,
  isFaultOfOne: IsFaultOfOne = () => false,
): (item: In) => Promise<Out> {
  const waiting: Waiting<In, Out>[] = [];
  const begin = inBatches(() => waiting.splice(0, MAX_ITEMS), { work, isFaultOfOne });
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      begin();
    });
}

/** What a call is for: whose turn it takes, and how many bytes it adds to its batch. */
interface Share {
  flow: FlowKey;
  bytes: number;
}

/** As `batched`, but a batch has so many bytes, and tenants take turns in it: the items of one are not before those of another. */
export function batchedInTurns<In, Out>(
  work: Work<In, Out>,
  { maxBytes, isFaultOfOne = () => false }: { maxBytes: number; isFaultOfOne?: IsFaultOfOne },
): (item: In, share: Share) => Promise<Out> {
  const line = createFairQueue<Waiting<In, Out> & { bytes: number }>();
  const begin = inBatches(nextBatch, { work, isFaultOfOne });

  function nextBatch(): Waiting<In, Out>[] {
    const batch: Waiting<In, Out>[] = [];
    let left = maxBytes;
    while (batch.length < MAX_ITEMS) {
      const next = line.dequeue(({ bytes }) => batch.length === 0 || bytes <= left);
      if (!next) break;
      batch.push(next);
      left -= next.bytes;
    }
    return batch;
  }

  return (item, { flow, bytes }) =>
    new Promise((resolve, reject) => {
      line.enqueue(flow, { item, bytes, resolve, reject });
      begin();
    });
}

/** Answers with the function that begins with the batches, unless they are under way. */
function inBatches<In, Out>(
  next: () => Waiting<In, Out>[],
  { work, isFaultOfOne }: { work: Work<In, Out>; isFaultOfOne: IsFaultOfOne },
): () => void {
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    await new Promise((resolve) => setImmediate(resolve));
    for (let batch = next(); batch.length > 0; batch = next()) await attempt(batch);
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

  return () => {
    if (!running) void runDetached(drain);
  };
}
