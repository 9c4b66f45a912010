import { eventLoop } from './event-loop-scheduler.ts';
import { currentFlow } from './work-context.ts';

/** Runs a long calculation: a generator whose every `yield` is a point where it may pause. After each time slice it lets other work run. */
export async function runCooperatively<T>(steps: Generator<void, T>): Promise<T> {
  const slice = createTimeSlice();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (slice.isOver) await slice.renew();
  }
}

/** Iterates over elements for a loop that works on each. Whenever a time slice is over, it lets other work of the event loop run first. */
export async function* cooperative<T>(elements: Iterable<T>): AsyncGenerator<T, void, void> {
  const slice = createTimeSlice();
  for (const element of elements) {
    if (slice.isOver) await slice.renew();
    yield element;
  }
}

/** Lets the event loop do other work first. The fair scheduler of this process decides when the caller continues. */
export function yieldToEventLoop(): Promise<void> {
  return eventLoop.yield(currentFlow());
}

/** Runs such a calculation without pauses, because it is known to be short. */
export function runSync<T>(steps: Generator<void, T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** The 5 ms for which a long calculation may occupy the event loop before it yields. */
export interface TimeSlice {
  /** Reads the clock, which is cheap but not free: ask every thousand steps or so. */
  readonly isOver: boolean;
  /** Yields to the event loop, and begins the next time slice. */
  renew(): Promise<void>;
}

const SLICE_MS = 5;

/** The begin of the time slice that was begun last in this round of the event loop. */
let latest: number | undefined;

/** A calculation that follows another in the same round uses up its time slice: with one of its own, the two would take twice as long. */
export function createTimeSlice(): TimeSlice {
  let began = latest ?? begin();
  return {
    get isOver() {
      return performance.now() - began >= SLICE_MS;
    },
    async renew() {
      await yieldToEventLoop();
      began = begin();
    },
  };
}

function begin(): number {
  if (latest === undefined) setImmediate(endRound);
  latest = performance.now();
  return latest;
}

function endRound(): void {
  latest = undefined;
}
