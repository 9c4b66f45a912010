import { setImmediate as nextTurn } from 'node:timers/promises';

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
      await nextTurn();
      began = performance.now();
    },
  };
}
