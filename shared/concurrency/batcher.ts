import { bisect } from './bisect.ts';
import { createFairQueue, type FlowKey } from './fair-queue.ts';
import { runDetached } from './work-context.ts';

interface Waiting<In, Out> {
  item: In;
  resolve: (out: Out) => void;
  reject: (error: unknown) => void;
}

/** Whether one item may have caused the error, so that the others succeed without it. */
export type IsItemError = (error: unknown) => boolean;

type Work<In, Out> = (items: In[]) => Promise<Out[]>;

/** Limit of items in one batch. */
const MAX_ITEMS = 500;

/**
 * Makes a function whose calls share one call of `work`: those of the same round of the event loop, and those made while an earlier
 * batch is under way. If `work` fails by an error of one item, the batch is halved until that item is alone; by any other error the
 * whole batch fails.
 */
export function createBatcher<In, Out>(
  work: Work<In, Out>,
  isItemError: IsItemError = () => false,
): (item: In) => Promise<Out> {
  const waiting: Waiting<In, Out>[] = [];
  const begin = inBatches(() => waiting.splice(0, MAX_ITEMS), { work, isItemError });
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      begin();
    });
}

/** The flow of a call, and the bytes that it adds to its batch. */
interface Weight {
  flow: FlowKey;
  bytes: number;
}

/** Like `createBatcher`, but a batch has at most `maxBytes` (or one item), and is filled from a fair queue. */
export function createFairBatcher<In, Out>(
  work: Work<In, Out>,
  { maxBytes, isItemError = () => false }: { maxBytes: number; isItemError?: IsItemError },
): (item: In, share: Weight) => Promise<Out> {
  const queue = createFairQueue<Waiting<In, Out> & { bytes: number }>();
  const begin = inBatches(nextBatch, { work, isItemError });

  function nextBatch(): Waiting<In, Out>[] {
    const batch: Waiting<In, Out>[] = [];
    let left = maxBytes;
    while (batch.length < MAX_ITEMS) {
      const next = queue.dequeue(({ bytes }) => batch.length === 0 || bytes <= left);
      if (!next) break;
      batch.push(next);
      left -= next.bytes;
    }
    return batch;
  }

  return (item, { flow, bytes }) =>
    new Promise((resolve, reject) => {
      queue.enqueue(flow, { item, bytes, resolve, reject });
      begin();
    });
}

function refuse({ reject }: { reject: (error: unknown) => void }, error: unknown): void {
  reject(error);
}

/** Returns a function that starts to work off the batches, unless that is under way already. */
function inBatches<In, Out>(
  next: () => Waiting<In, Out>[],
  { work, isItemError }: { work: Work<In, Out>; isItemError: IsItemError },
): () => void {
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    await new Promise((resolve) => setImmediate(resolve));
    for (let batch = next(); batch.length > 0; batch = next()) await bisect(batch, attempt, refuse);
    running = false;
  }

  /** Returns the error if one item may have caused it. */
  async function attempt(batch: readonly Waiting<In, Out>[]): Promise<unknown> {
    try {
      const results = await work(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => {
        resolve(results[index] as Out);
      });
    } catch (error) {
      if (isItemError(error)) return error;
      for (const { reject } of batch) reject(error);
    }
    return undefined;
  }

  return () => {
    if (!running) void runDetached(drain);
  };
}
