import type { Logger } from '../core/logger.ts';
import type { Messages } from './backplane/index.ts';

/** Tells workers that tokens wait to be revoked at a provider. */
export const REVOCATIONS_CHANNEL = 'oauth.revocations';

/** Sends the message after the commit. A worker that does not get it finds the tokens with its next poll. */
export function tellRevokers(messages: Messages, log: Logger): void {
  messages.publish(REVOCATIONS_CHANNEL, {}).catch((error) => log.debug({ err: error }, 'workers not told'));
}
