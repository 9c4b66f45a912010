import { z } from 'zod';
import type { KeyRing } from '#shared/crypto.ts';
import { AppError } from '#shared/errors.ts';

/** Ten minutes, by the contract. */
export const STATE_MS = 600_000;

/** What goes to the provider and comes back: where the row is, and what can be said to the page that waits if the row is gone. */
export const State = z.object({
  flowID: z.uuid(),
  tenantID: z.uuid(),
  provider: z.string(),
  /** The one origin that hears how it ended; null: no page of ours has begun it. */
  origin: z.string().nullable(),
  /** Milliseconds since 1970. */
  expiresAt: z.int(),
});
export type State = z.infer<typeof State>;

const CONTEXT = 'oauth:state';

/** Authenticated and closed: nobody can make one, change one, or read in one whose it is. */
export function writeState(secrets: KeyRing, state: State): string {
  return secrets.seal(JSON.stringify(state), CONTEXT);
}

/** Undefined for what is none of ours. Whether it is still good is another question. */
export function readState(secrets: KeyRing, text: string | undefined): State | undefined {
  if (text === undefined) return undefined;
  try {
    return State.parse(JSON.parse(secrets.open(text, CONTEXT)));
  } catch (error) {
    if (error instanceof AppError && error.code === 'INTERNAL_ERROR') return undefined;
    throw error;
  }
}
