import type { listenerEvents } from '#shared/messaging/queues/listener-events.ts';
import type { Processor } from './consume.ts';

export const processListenerEvents: Processor<typeof listenerEvents> = async ({ payload, signal }, { events }) => ({
  outcome: await events.process(payload, signal),
});
