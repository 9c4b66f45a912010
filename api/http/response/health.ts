import type { RequestHandler } from 'express';
import type { Pool } from '#shared/db/pool.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import type { SecretsCheck } from '#shared/process/open-key-ring.ts';
import { alive, bodyOf, readReadiness } from '#shared/process/readiness.ts';

/** The process is alive; its dependencies are not checked. */
export const health: RequestHandler = (_request, response) => {
  response.json(alive());
};

interface Services {
  pool: Pool;
  messaging: { backplane: Backplane };
  requests: { draining: AbortSignal };
  secrets: SecretsCheck;
}

/** Whether this process can serve requests. */
export function readiness(services: Services): RequestHandler {
  const { pool, secrets, messaging, requests } = services;
  const { backplane } = messaging;
  return async (_request, response) => {
    const found = await readReadiness({ pool, backplane, secrets, isDraining: requests.draining.aborted });
    response.status(found.isReady ? 200 : 503).json(bodyOf(found));
  };
}
