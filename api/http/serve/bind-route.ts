import type { Route } from '../route/route.ts';

/** A route whose handlers have their context already, so that the code that serves routes does not depend on it. */
export type BoundRoute = Route<void>;

export function bindRoute<C>(route: Route<C>, context: C): BoundRoute {
  const handle: BoundRoute['handle'] = (input) => route.handle(input, context);
  if (route.realm === 'user') {
    const { complete, ...rest } = route;
    return { ...rest, handle, ...(complete && { complete: (result, input) => complete(result, input, context) }) };
  }
  if (route.realm === 'public') {
    const { checkPublic, ...rest } = route;
    return { ...rest, handle, ...(checkPublic && { checkPublic: (input) => checkPublic(input, context) }) };
  }
  return { ...route, handle };
}
