const TRIES = 3;

/**
 * Longest time in ms for which work holds the event loop: processor time of the main thread, so that other processes on the machine
 * do not count. The shortest of several tries, until one is below `max`: garbage collection and first calls are left out. `before` prepares
 * each try.
 */
export async function longestHold(
  max: number,
  work: () => Promise<unknown>,
  before: () => Promise<unknown> = async () => undefined,
): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < TRIES && least >= max; n += 1) {
    await before();
    least = Math.min(least, await holdOf(work));
  }
  return least;
}

async function holdOf(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = threadMs();
  let isOver = false;
  const tick = () => {
    const now = threadMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  try {
    await work();
    // The tick after the last hold measures it.
    await new Promise((resolve) => setImmediate(resolve));
    return longest;
  } finally {
    isOver = true;
  }
}

/** Processor time that work takes, in ms. */
export function costOf(work: () => unknown): number {
  const began = threadMs();
  work();
  return threadMs() - began;
}

/** The least of several tries, until one is below `enough`: the first calls and garbage collection are left out. */
export function leastCostOf(work: () => unknown, enough = 0): number {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < TRIES && least >= enough; n += 1) least = Math.min(least, costOf(work));
  return least;
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
