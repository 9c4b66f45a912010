import { createFairQueue, type FlowKey } from './fair-queue.ts';

/**
 * Turns at the event loop: in each round of it some work goes on, and creators take turns. Without them, all that one caller has sent
 * at once would be worked on in each round, and a request of another caller would wait for all of it at each of its steps, though it
 * takes a millisecond itself.
 */
export interface LoopTurns {
  /** Waits for a turn; undefined if there is one now. `bytes` is what the work goes through at once, such as the text of a body. */
  enter(flow: FlowKey, bytes?: number): Promise<void> | undefined;
  /** Waits for a turn of a later round, for work that goes on for as long as the loop may be held. */
  goOn(flow: FlowKey): Promise<void>;
}

/** About 10 ms of processor time: sixteen small requests, one of 800 kB, or a part of longer work. */
const PER_ROUND = 16;
const BYTES_OF_ONE = 50_000;

interface Waiter {
  weight: number;
  go(): void;
}

export function createLoopTurns(): LoopTurns {
  const line = createFairQueue<Waiter>();
  let used = 0;
  let isCounting = false;

  function count(weight: number): void {
    used += weight;
    askForRound();
  }

  function askForRound(): void {
    if (isCounting) return;
    isCounting = true;
    setImmediate(nextRound);
  }

  function nextRound(): void {
    isCounting = false;
    used = 0;
    while (used < PER_ROUND) {
      const next = line.dequeue(() => true);
      if (!next) return;
      count(next.weight);
      next.go();
    }
  }

  function wait(flow: FlowKey, weight: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    line.enqueue(flow, { weight, go: resolve });
    askForRound();
    return promise;
  }

  return {
    enter(flow, bytes = 0) {
      const weight = 1 + bytes / BYTES_OF_ONE;
      if (used >= PER_ROUND || line.size > 0) return wait(flow, weight);
      count(weight);
      return undefined;
    },
    goOn: (flow) => wait(flow, PER_ROUND),
  };
}

/** Of this process, which has one event loop. */
export const loopTurns = createLoopTurns();
