import { AppError } from '#shared/core/errors.ts';
import type { waitForEvent } from '#shared/workflow/nodes/kinds/wait-for-event.ts';
import type { Executor } from '../executor.ts';

const MINUTE_MS = 60_000;

export const runWaitForEvent: Executor<typeof waitForEvent> = async ({ config, run, waitResult }) => {
  const { eventName: name, lookbackMinutes, expiryMinutes, onTimeout, outputVariable } = config;
  const key = String(config.eventKey ?? run.instanceID);
  if (waitResult?.kind !== 'event')
    return {
      park: 'event',
      name,
      key,
      lookbackMs: lookbackMinutes * MINUTE_MS,
      // Zero means for ever.
      expiresInMs: expiryMinutes === 0 ? null : expiryMinutes * MINUTE_MS,
    };
  const { event } = waitResult;
  if (event) {
    const { id: eventID, data, sentAt } = event;
    return {
      output: { [outputVariable]: data, eventID, eventName: name, eventKey: key, sentAt, success: true },
      exit: 'received',
    };
  }
  if (onTimeout === 'fail')
    throw new AppError(
      'NODE_TIMEOUT',
      `No event "${name}" with the key "${key}" came within ${expiryMinutes} minutes (\`expiryMinutes\` of the node)`,
      {
        retry: false,
      },
    );
  return {
    output: { [outputVariable]: null, eventName: name, eventKey: key, success: false, expired: true },
    exit: 'expired',
  };
};
