import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { isUnreadableSecret, type KeyRing } from '#shared/core/key-ring.ts';

/** Ten minutes, by the contract. */
export const STATE_MS = 600_000;

/** The state parameter: the id of the flow's row, and what the page needs if the row is gone. */
export const State = z.object({
  flowID: z.uuid(),
  tenantID: z.uuid(),
  provider: z.string(),
  /** The origin that is notified of the outcome; null if no page of the whitelist began the flow. */
  origin: z.string().nullable(),
  /** Milliseconds since 1970. */
  expiresAt: z.int(),
});
export type State = z.infer<typeof State>;

const CONTEXT = 'oauth:state';

/** Seals the state, so that a client can neither forge, change nor read it. */
export function writeState(secrets: KeyRing, state: State): string {
  return secrets.seal(JSON.stringify(state), CONTEXT);
}

/** Undefined if we did not issue this state. Does not check its age. */
export function readState(secrets: KeyRing, text: string | undefined): State | undefined {
  if (text === undefined) return undefined;
  try {
    return State.parse(JSON.parse(secrets.open(text, CONTEXT)));
  } catch (error) {
    if (isUnreadableSecret(error) || (error instanceof AppError && error.code === 'INTERNAL_ERROR')) return undefined;
    throw error;
  }
}
