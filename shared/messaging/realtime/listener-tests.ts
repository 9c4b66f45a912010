import { z } from 'zod';
import { Json } from '../../core/json.ts';

/** Message from a worker to all gateways: events of listeners that are tested. */
export const TEST_BROADCAST = 'listener_tests';

/** Sent to `listener_test:<listenerID>` as `listener_test_event`. */
export const ListenerTest = z.object({
  tenantID: z.uuid(),
  listenerID: z.uuid(),
  /** As the actions get it; null if it is too large for a message. */
  rawEvent: Json,
  /** As the first transform has left it; null if it has filtered the event out or has failed. Without a transform, the event. */
  transformedEvent: Json,
  transformError: z.string().nullable(),
  /** The event is too large for a message. */
  dataOmitted: z.literal(true).optional(),
  /** Milliseconds since 1970. */
  timestamp: z.int(),
});
export type ListenerTest = z.infer<typeof ListenerTest>;
