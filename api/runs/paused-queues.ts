import type { Backplane } from '#shared/messaging/backplane/index.ts';
import { queues } from '#shared/messaging/queues/index.ts';

/** One reading serves all callers for so long. */
const FRESH_MS = 1_000;
/** After this time without an answer of the store of the queues no queue counts as paused: pages must not wait for it. */
const TIMEOUT_MS = 500;

/** The queues that an operator has paused on the board: workers take no job from them. */
export interface PausedQueues {
  names(): Promise<readonly string[]>;
}

export function createPausedQueues(backplane: Pick<Backplane, 'queue'>): PausedQueues {
  let latest: Promise<readonly string[]> = Promise.resolve([]);
  let freshUntil = 0;
  return {
    names() {
      if (performance.now() < freshUntil) return latest;
      freshUntil = performance.now() + FRESH_MS;
      latest = within(TIMEOUT_MS, readPaused(backplane));
      return latest;
    },
  };
}

async function readPaused(backplane: Pick<Backplane, 'queue'>): Promise<readonly string[]> {
  const names = queues.map(({ name }) => name);
  const states = await Promise.all(names.map((name) => backplane.queue(name).isPaused()));
  return names.filter((_, index) => states[index]);
}

async function within(ms: number, reading: Promise<readonly string[]>): Promise<readonly string[]> {
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  const timer = setTimeout(() => resolve([]), ms);
  try {
    return await Promise.race([reading, promise]);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}
