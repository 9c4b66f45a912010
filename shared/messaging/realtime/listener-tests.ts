import { z } from 'zod';
import { Json } from '../../core/json.ts';

/** Message from a worker to all gateways: events of listeners that are tested. */
export const TEST_BROADCAST = 'listener_tests';

/** Sent to `listener_test:<listenerID>` as `listener_test_event`. */
export const ListenerTest = z.object({
  tenantID: z.uuid(),
  listenerID: z.uuid(),
  /** The event as the actions get it; null if it is too large for a message. */
  rawEvent: Json,
  /** The event as the first transform has changed it; null if that has filtered it out or failed. Without a transform: the event itself. */
  transformedEvent: Json,
  transformError: z.string().nullable(),
  /** Whether the events were left out, because they are too large for a message. */
  dataOmitted: z.literal(true).optional(),
  /** Milliseconds since 1970. */
  timestamp: z.int(),
});
export type ListenerTest = z.infer<typeof ListenerTest>;
