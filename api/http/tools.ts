import type { EntityManager } from '#shared/db/orm.ts';
import type { Logger } from '#shared/logger.ts';
import type { Exchange } from './exchange.ts';
import type { Response } from './route.ts';

/** What handlers of every realm may use. */
export interface Tools {
  readonly em: EntityManager;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Created on first use: most handlers use only some of them, and each costs as much as a permission check. */
export function createTools(
  { context, response }: Pick<Exchange, 'context' | 'response'>,
  own: { tenantID?: string; em(): EntityManager },
): Tools {
  let em: EntityManager | undefined;
  let log: Logger | undefined;
  let signal: AbortSignal | undefined;
  return {
    get em() {
      em ??= own.em();
      return em;
    },
    get log() {
      const requestID = response.getHeader('x-request-id');
      log ??= context.logger.child({ requestID, ...(own.tenantID && { tenantID: own.tenantID }) });
      return log;
    },
    get signal() {
      signal ??= whenGone(response);
      return signal;
    },
  };
}

function whenGone(response: Response): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
