import { z } from 'zod';

/** Tells processes that an answer has more chunks, or has ended. A wake-up: the rows say what there is. */
export const CHAT_CHANNEL = 'ai.answers';
export const ChatSignal = z.object({ answerID: z.uuid() });

/** An answer whose worker renews nothing for so long has lost it. */
export const CHAT_LEASE_MS = 10_000;
/** How long an answer waits for a worker. */
export const CHAT_PATIENCE_MS = 60_000;
export const CHAT_TIMEOUT_MS = 300_000;
