import { z } from 'zod';

/** Tells processes that an answer has more chunks, or has ended. A wake-up: the rows say what there is. */
export const CHAT_CHANNEL = 'ai.answers';
export const ChatSignal = z.object({ answerID: z.uuid() });

/**
 * Tells API processes that a call of a tool, or the next step of an answer, waits in the rows. `unwanted`: an answer whose model is not to
 * go on.
 */
export const TOOLS_CHANNEL = 'ai.tools';
export const ToolsSignal = z.object({ unwanted: z.uuid().optional() });

/** An answer whose worker renews nothing for so long has lost it. */
export const CHAT_LEASE_MS = 10_000;
/** An answer that no process says it sends to its client for so long is not wanted, unless it goes on without one. */
export const CHAT_READER_MS = 15_000;
/** How long an answer waits for a worker. */
export const CHAT_WAIT_MS = 60_000;
export const CHAT_TIMEOUT_MS = 300_000;

/** Steps of an answer in which a model may call tools. */
export const MAX_STEPS = 25;
/** Calls that a model may ask for at once. */
export const MAX_CALLS = 16;
