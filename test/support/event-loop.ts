/**
 * Runs work, and measures the longest time in ms for which it held the event loop: processor time of the main thread, so that other
 * processes on the machine do not count.
 */
export async function longestHold<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
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
    return { result: await work(), ms: longest };
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

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
