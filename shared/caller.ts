import { z } from 'zod';

/** In whose name something happens, and where it came from. Travels in rows and payloads; grows by optional fields only. */
export const Caller = z.object({
  type: z.enum(['user', 'apiKey', 'system']),
  /** The user's id, the key's id, or the tenant's id for `system`. */
  id: z.uuid(),
  /** The acting user: for an API key its creator. */
  userID: z.uuid().optional(),
  origin: z.enum(['workflow', 'appPage', 'listener', 'cron', 'direct']),
  originID: z.uuid().optional(),
});
export type Caller = z.infer<typeof Caller>;

/** Who must each be allowed what happens: an API key may do what both it and its creator may. */
export function subjectsOf({ type, id, userID }: Caller): string[] {
  return type === 'apiKey' && userID ? [id, userID] : [id];
}
