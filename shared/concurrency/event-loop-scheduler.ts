import { createFairQueue, type FlowKey } from './fair-queue.ts';

/**
 * A fair scheduler of the event loop: in each round of the loop it starts some work, by round robin over the creators. Without it, the loop
 * would process everything that one caller has sent at once, and a request of another caller, though it takes a millisecond itself, would
 * wait for all of that at each of its asynchronous steps.
 */
export interface EventLoopScheduler {
  /**
   * Waits until the work may start; undefined if it may start now. `bytes` is the length of what the work goes through without a pause,
   * such as the text of a body.
   */
  start(flow: FlowKey, bytes?: number): Promise<void> | undefined;
  /** Waits for a later round and uses up the rest of it: for long work that then occupies the loop for a whole time slice. */
  yield(flow: FlowKey): Promise<void>;
}

/** Pieces of work in one round, about 10 ms of processor time: sixteen small requests, one of 800 kB, or a time slice of long work. */
const PER_ROUND = 16;
/** So many bytes count as one more piece of work. */
const BYTES_OF_ONE = 50_000;

interface Waiter {
  weight: number;
  start(): void;
}

export function createEventLoopScheduler(perRound = PER_ROUND): EventLoopScheduler {
  const queue = createFairQueue<Waiter>();
  let used = 0;
  let isScheduled = false;

  function count(weight: number): void {
    used += weight;
    scheduleRound();
  }

  function scheduleRound(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(beginRound);
  }

  function beginRound(): void {
    isScheduled = false;
    used = 0;
    while (used < perRound) {
      const next = queue.dequeue(() => true);
      if (!next) return;
      count(next.weight);
      next.start();
    }
  }

  function wait(flow: FlowKey, weight: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    queue.enqueue(flow, { weight, start: resolve });
    scheduleRound();
    return promise;
  }

  return {
    start(flow, bytes = 0) {
      const weight = 1 + bytes / BYTES_OF_ONE;
      if (used >= perRound || queue.size > 0) return wait(flow, weight);
      count(weight);
      return undefined;
    },
    yield: (flow) => wait(flow, perRound),
  };
}

/** The scheduler of requests and long calculations of this process. */
export const eventLoop = createEventLoopScheduler();
