import type { Logger } from '#shared/core/logger.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { Exchange } from './request-context.ts';
import { goneSignal } from '../request/request-signal.ts';

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
      return goneSignal(response);
    },
  };
}
