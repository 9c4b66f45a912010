import { z } from 'zod';

/** A user, or an API key with its creator. */
export const Actor = z
  .object({ type: z.enum(['user', 'apiKey']), id: z.uuid(), userID: z.uuid().optional() })
  .meta({ id: 'RequestedBy' });
export type Actor = z.infer<typeof Actor>;

/** The identity that a request or run acts under, and its origin. Part of rows and payloads: add only optional fields. */
export const Caller = z.object({
  type: z.enum(['user', 'apiKey', 'system']),
  /** The user's id, the key's id, or the tenant's id for `system`. */
  id: z.uuid(),
  /** The acting user: for an API key its creator. */
  userID: z.uuid().optional(),
  origin: z.enum(['workflow', 'appPage', 'listener', 'cron', 'direct', 'test']),
  originID: z.uuid().optional(),
  /** Who sent the request, if it is executed under another identity: an app page runs what it binds as its creator. */
  requestedBy: Actor.optional(),
  /** Authors of `ai` nodes whose tools act for this caller. What one of them may not do, a tool may not do. */
  boundBy: z.array(Actor).optional(),
});
export type Caller = z.infer<typeof Caller>;

/**
 * Subjects that must all have the permission: an API key may do only what both it and its creator may do, and a tool of an `ai` node
 * only what its author may do as well.
 */
export function subjectsOf({ boundBy = [], ...caller }: Caller): string[] {
  return [caller, ...boundBy].flatMap(({ type, id, userID }) => (type === 'apiKey' && userID ? [id, userID] : [id]));
}

/** The user who started a run, or whose API key did; undefined for runs of cron jobs and listeners, and for tests, which decide nothing. */
export function starterOf({ type, id, userID, origin, requestedBy }: Caller): string | undefined {
  if (origin === 'cron' || origin === 'listener' || origin === 'test') return undefined;
  const { type: of, ...who } = requestedBy ?? { type, id, userID };
  return who.userID ?? (of === 'user' ? who.id : undefined);
}

/** Restricts a caller to what `author` may do, too. */
export function boundBy(caller: Caller, author: Actor): Caller {
  if (subjectsOf(caller).includes(author.id)) return caller;
  return { ...caller, boundBy: [...(caller.boundBy ?? []), author] };
}
