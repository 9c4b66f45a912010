import type { Logger } from '#shared/core/logger.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import { VARIABLES_CHANNEL } from '#shared/workflow/variables.ts';

/**
 * Tells workers, after the commit, that variables have changed. A worker that does not get the message notices it within
 * a second.
 */
export function tellWorkers({ messages }: Backplane, log: Logger, tenantID: string): void {
  messages.publish(VARIABLES_CHANNEL, { tenantID }).catch((error) => log.debug({ err: error }, 'workers not told'));
}
