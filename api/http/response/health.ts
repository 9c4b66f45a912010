import type { RequestHandler } from 'express';
import { alive, bodyOf, readReadiness } from '#shared/process/readiness.ts';
import type { ApiContext } from '../../app/open-context.ts';

/** The process is alive; its dependencies are not checked. */
export const health: RequestHandler = (_request, response) => {
  response.json(alive());
};

/** Whether this process can serve requests. */
export function readiness({
  pool,
  backplane,
  draining,
}: Pick<ApiContext, 'pool' | 'backplane' | 'draining'>): RequestHandler {
  return async (_request, response) => {
    const found = await readReadiness({ pool, backplane, isDraining: draining.aborted });
    response.status(found.isReady ? 200 : 503).json(bodyOf(found));
  };
}
