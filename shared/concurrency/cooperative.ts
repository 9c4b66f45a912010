import { loopTurns } from './event-loop-scheduler.ts';
import { turnOfWork } from './work-context.ts';

/** Runs a long calculation, which yields where it may pause, and lets the event loop turn whenever it has held it for 10 ms. */
export async function inTurns<T>(steps: Generator<void, T>): Promise<T> {
  const pauses = createPauses();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (pauses.isDue) await pauses.take();
  }
}

/** The elements of a list for a loop that works on each: between two of them the event loop turns whenever it was held for 10 ms. */
export async function* takingTurns<T>(elements: Iterable<T>): AsyncGenerator<T, void, void> {
  const pauses = createPauses();
  for (const element of elements) {
    if (pauses.isDue) await pauses.take();
    yield element;
  }
}

/** Lets the event loop turn; other work that wants to go on has its turn first. */
export function nextRound(): Promise<void> {
  return loopTurns.goOn(turnOfWork());
}

/** Runs a calculation that is known to be short. */
export function atOnce<T>(steps: Generator<void, T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** For a long calculation: lets the event loop turn whenever the calculation has held it for 10 ms. */
export interface Pauses {
  /** Call it every thousand steps or so; the clock is cheap, but not free. */
  readonly isDue: boolean;
  take(): Promise<void>;
}

const HOLD_MS = 10;

export function createPauses(): Pauses {
  let began = performance.now();
  return {
    get isDue() {
      return performance.now() - began >= HOLD_MS;
    },
    async take() {
      await nextRound();
      began = performance.now();
    },
  };
}
