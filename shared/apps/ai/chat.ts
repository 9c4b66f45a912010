import { z } from 'zod';

/** Channel that tells processes that an answer has new chunks, or has ended. The message has only its id: the chunks are read from rows. */
export const CHAT_CHANNEL = 'ai.answers';
export const ChatSignal = z.object({ answerID: z.uuid() });

/**
 * Channel that tells API processes that a row with a tool call, or with the next step of an answer, waits for them. `unwanted`: the id of an
 * answer whose model must not continue.
 */
export const TOOLS_CHANNEL = 'ai.tools';
export const ToolsSignal = z.object({ unwanted: z.uuid().optional() });

/** An answer whose worker has not renewed its lease for so long has lost the worker. */
export const CHAT_LEASE_MS = 10_000;
/** If no process reports for so long that it sends an answer to its client, the answer is abandoned, unless it may go on without a client. */
export const CHAT_READER_MS = 15_000;
/** How long an answer waits for a worker. */
export const CHAT_WAIT_MS = 60_000;
export const CHAT_TIMEOUT_MS = 300_000;

/** Steps of an answer in which a model may call tools. */
export const MAX_STEPS = 25;
/** Calls that a model may ask for at once. */
export const MAX_CALLS = 16;
