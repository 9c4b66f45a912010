import { lazyRouteComponent } from '@tanstack/react-router';
import { whenServed } from '../client/when-served.ts';

/**
 * A page whose code is loaded when it is first opened, which waits while the server is away. The router would load the document anew at
 * once, and the browser's own page about a missing server would take the place of the console. Code that is missing afterwards is that
 * of an earlier version of the console, and the router is right to load it anew.
 */
export const lazyPage: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => whenServed(load), name);
