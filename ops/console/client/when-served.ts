const AGAIN_MS = 1_000;

/**
 * Loads code that is needed now, and waits while the server is away: the browser remembers no failure of an import, so that another
 * try succeeds.
 */
export async function whenServed<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    while (!(await isServed())) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    return load();
  }
}

function isServed(): Promise<boolean> {
  return fetch('/health', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );
}
