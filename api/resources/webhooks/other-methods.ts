import type { ApiContext } from '../../context/context.ts';
import type { Request, Response } from '../../http/route/route.ts';
import { PREFIX } from './called-url.ts';
import { receiveDelivery } from './receive.ts';

/** Receives what the routes of the contract do not: other methods than POST, and paths of several parts. */
export function otherMethods(context: ApiContext) {
  return (request: Request, response: Response, next: (error?: unknown) => void): void => {
    if (!request.path.startsWith(PREFIX)) return next();
    receiveDelivery(request, response, context).catch(next);
  };
}
