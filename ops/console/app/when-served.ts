const AGAIN_MS = 1_000;

/**
 * Loads the code of a page, or waits while the server is away. The router would load the document anew at once, and the browser's own
 * page about a missing server would take the place of the console.
 */
export function whenServed<Module>(load: () => Promise<Module>): () => Promise<Module> {
  return () =>
    load().catch(async () => {
      while (!(await isServed())) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      // Code that is missing now is that of an earlier version of the console, and the router is right to load it anew.
      return load();
    });
}

function isServed(): Promise<boolean> {
  return fetch('/health', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );
}
