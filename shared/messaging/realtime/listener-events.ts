import { z } from 'zod';
import { Json } from '../../core/json.ts';

/** Message from a worker to all gateways: events for app pages. */
export const LISTENER_BROADCAST = 'listener_events';

/** Sent to `listener:app_page:<appPageID>` as `listener_event`. A client that is not connected misses it. */
export const PagePush = z.object({
  tenantID: z.uuid(),
  appPageID: z.uuid(),
  listenerID: z.uuid(),
  eventID: z.uuid(),
  channelName: z.string(),
  data: Json,
  /** Whether `data` was left out, because the event is too large for a message. */
  dataOmitted: z.literal(true).optional(),
  mode: z.enum(['replace', 'append']),
  /** Items that a page keeps in the mode `append`. */
  limit: z.int(),
  /** Milliseconds since 1970. */
  timestamp: z.int(),
});
export type PagePush = z.infer<typeof PagePush>;
