import type { Route } from '../route/route.ts';

/** A route whose handlers have their context: what serves it need not know which. */
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
