import { z } from 'zod';
import { defineQueue, type QueueDefinition } from './define-queue.ts';

/** The payload of a question. People on call can read it on the board, so the question itself is sealed. */
export const AskJob = z.object({
  askID: z.uuid(),
  /** Channel of the waiting process. */
  replyTo: z.string(),
  /** Milliseconds since 1970. A worker does not begin later than this. */
  deadline: z.int(),
  sealed: z.string(),
  /** Whose turn it is to be answered: the tenant, or the user where there is no tenant. */
  tenantID: z.uuid().optional(),
  /** A lookup or a test, for which workers keep places. */
  isShort: z.boolean().optional(),
});

/** Channel on which an asker announces that it no longer waits. */
export const ASK_CANCEL = 'asks.cancel';
export const AskCancel = z.object({ askID: z.uuid() });

/** The reply on the channel. Without `sealed` the answer is in `ask_reply`, and has so many bytes. */
export const AskReply = z.object({
  askID: z.uuid(),
  sealed: z.string().optional(),
  bytes: z.int().optional(),
});

/** How the question ended: `answered`, the code of the error that was the answer, or why a worker did not begin it. */
const AskEnd = z.object({ outcome: z.string() });

/**
 * A queue of questions whose asker waits (`producer.ask`). Delivered once: a question that a worker has begun is never begun by
 * another, because it may write.
 */
export interface AskDefinition<
  Name extends string = string,
  Question extends z.ZodType = z.ZodType,
  Answer extends z.ZodType = z.ZodType,
> extends QueueDefinition<Name, typeof AskJob, typeof AskEnd> {
  readonly question: Question;
  readonly answer: Answer;
  /** Default time limit of the asker. */
  readonly timeoutMs: number;
  /** Requests that one process may have under way, by kind of key: `{ tenant: 8, target: 4 }`. */
  readonly maxConcurrent: Readonly<Record<string, number>>;
  /** Whether the work of this question ends soon. */
  isShort(question: z.output<Question>): boolean;
}

interface AskSettings<Name, Question extends z.ZodType, Answer> {
  name: Name;
  question: Question;
  answer: Answer;
  timeoutMs: number;
  maxConcurrent: Readonly<Record<string, number>>;
  hasFewJobs?: boolean;
  /** Default: never. */
  isShort?: (question: z.output<Question>) => boolean;
}

/** Questions of one queue that a worker takes from it. Most wait there for a permit (`acquirePermit`). */
const MAX_TAKEN = 2_000;

export function defineAsk<const Name extends string, Question extends z.ZodType, Answer extends z.ZodType>({
  name,
  isShort = () => false,
  ...settings
}: AskSettings<Name, Question, Answer>): AskDefinition<Name, Question, Answer> {
  const queue = defineQueue({
    name,
    payload: AskJob,
    result: AskEnd,
    attempts: 1,
    backoffMs: 0,
    maxStalledCount: 0,
    isKept: () => true,
    // Questions may be large, and their secrets need not outlive them, even sealed.
    readable: (payload) => ({ ...payload, sealed: '' }),
    concurrency: MAX_TAKEN,
    deadLetters: null,
    jobID: ({ askID }) => askID,
  });
  return { ...queue, ...settings, isShort };
}

/** Encryption context that binds a sealed question or answer to its id. */
export function askContext(askID: string, part: 'question' | 'answer'): string {
  return `ask:${askID}:${part}`;
}
