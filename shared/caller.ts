import { z } from 'zod';

const RequestedBy = z
  .object({ type: z.enum(['user', 'apiKey']), id: z.uuid(), userID: z.uuid().optional() })
  .meta({ id: 'RequestedBy' });

/** The identity that a request or run acts under, and its origin. Part of rows and payloads: add only optional fields. */
export const Caller = z.object({
  type: z.enum(['user', 'apiKey', 'system']),
  /** The user's id, the key's id, or the tenant's id for `system`. */
  id: z.uuid(),
  /** The acting user: for an API key its creator. */
  userID: z.uuid().optional(),
  origin: z.enum(['workflow', 'appPage', 'listener', 'cron', 'direct', 'test']),
  originID: z.uuid().optional(),
  /** Who asked for it, where it is done as another: a page runs what it binds as its creator. */
  requestedBy: RequestedBy.optional(),
});
export type Caller = z.infer<typeof Caller>;

/** Subjects that must all have the permission: an API key may do only what both it and its creator may do. */
export function subjectsOf({ type, id, userID }: Caller): string[] {
  return type === 'apiKey' && userID ? [id, userID] : [id];
}
