import { lazyRouteComponent } from '@tanstack/react-router';

const AGAIN_MS = 1_000;

/**
 * A page whose code is loaded when it is first opened, which waits while the server is away. The router would load the document anew at
 * once, and the browser's own page about a missing server would take the place of the console.
 */
export const lazyPage: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(
    () =>
      load().catch(async () => {
        while (!(await isServed())) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
        // Code that is missing now is that of an earlier version of the console, and the router is right to load it anew.
        return load();
      }),
    name,
  );

function isServed(): Promise<boolean> {
  return fetch('/health', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );
}
