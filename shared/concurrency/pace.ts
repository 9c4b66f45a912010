import { createTurns } from './fair-queue.ts';

/** Resolves when it is the turn of a delivery of the tenant. */
export type Pace = (tenantID: string) => Promise<void>;

/** Of about 0.3 ms each. */
const AT_ONCE = 20;

/**
 * Lets a few deliveries go on in each turn of the event loop, tenants in turn. Without it the deliveries of one statement, of which there
 * may be hundreds, go on together, and their senders send the next ones together: a request that comes meanwhile waits for all of them.
 */
export function createPace(atOnce = AT_ONCE): Pace {
  const line = createTurns<() => void>();
  let gone = 0;
  let isRunning = false;

  function nextTurn(): void {
    const isIdle = gone === 0;
    gone = 0;
    while (gone < atOnce) {
      const go = line.take(() => true);
      if (!go) break;
      gone += 1;
      go();
    }
    isRunning = !isIdle || gone > 0;
    if (isRunning) setImmediate(nextTurn);
  }

  return async (tenantID) => {
    if (!isRunning) {
      isRunning = true;
      setImmediate(nextTurn);
    }
    if (gone < atOnce) {
      gone += 1;
      return;
    }
    await new Promise<void>((resolve) => line.add({ tenantID }, resolve));
  };
}
