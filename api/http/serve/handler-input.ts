import type { Logger } from '#shared/core/logger.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { requestSignal } from '../request/request-signal.ts';
import type { RequestContext } from './request-context.ts';

/** Functions that handlers of every realm may use. */
export interface Tools {
  readonly em: EntityManager;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Created on first use: most handlers use only some of them, and each costs as much as a permission check. */
export function createTools(
  { services, response }: Pick<RequestContext, 'services' | 'response'>,
  own: { tenantID?: string; em(): EntityManager },
): Tools {
  let em: EntityManager | undefined;
  let log: Logger | undefined;
  return {
    get em() {
      em ??= own.em();
      return em;
    },
    get log() {
      const requestID = response.getHeader('x-request-id');
      log ??= services.logger.child({ requestID, ...(own.tenantID && { tenantID: own.tenantID }) });
      return log;
    },
    get signal() {
      return requestSignal(response);
    },
  };
}
