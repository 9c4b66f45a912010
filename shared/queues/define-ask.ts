import { z } from 'zod';
import { defineQueue, type QueueDefinition } from './define-queue.ts';

/** What a question looks like in the queue, where people on call can read it: the question itself is sealed. */
export const AskJob = z.object({
  askID: z.uuid(),
  /** The channel of the process that waits. */
  replyTo: z.string(),
  /** Milliseconds since 1970. A worker does not begin later than this. */
  deadline: z.int(),
  sealed: z.string(),
});

/** The channel on which an asker says that nobody waits any more. */
export const ASK_CANCEL = 'asks.cancel';
export const AskCancel = z.object({ askID: z.uuid() });

/** What comes back on the channel. Without `sealed` the answer is in `ask_reply`. */
export const AskReply = z.object({ askID: z.uuid(), sealed: z.string().optional() });

const Nothing = z.object({});

/**
 * A queue of questions that somebody waits for (`producer.ask`). It is asked once: what a worker has begun is never begun by
 * another, because it may write.
 */
export interface AskDefinition<
  Name extends string = string,
  Question extends z.ZodType = z.ZodType,
  Answer extends z.ZodType = z.ZodType,
> extends QueueDefinition<Name, typeof AskJob, typeof Nothing> {
  readonly question: Question;
  readonly answer: Answer;
  /** How long the asker waits when it does not say. */
  readonly timeoutMs: number;
  /** How many questions one process has under way at most, by whose they are: `{ tenant: 8, target: 4 }`. */
  readonly perLane: Readonly<Record<string, number>>;
}

interface AskSettings<Name, Question, Answer> {
  name: Name;
  question: Question;
  answer: Answer;
  timeoutMs: number;
  perLane: Readonly<Record<string, number>>;
}

export function defineAsk<const Name extends string, Question extends z.ZodType, Answer extends z.ZodType>({
  name,
  ...settings
}: AskSettings<Name, Question, Answer>): AskDefinition<Name, Question, Answer> {
  const queue = defineQueue({
    name,
    payload: AskJob,
    result: Nothing,
    attempts: 1,
    backoffMs: 0,
    maxStalledCount: 0,
    keepFailed: 'nothing',
    concurrency: 200,
    deadLetters: null,
    jobID: ({ askID }) => askID,
  });
  return { ...queue, ...settings };
}

/** What binds a sealed question or answer to its place. */
export function askContext(askID: string, part: 'question' | 'answer'): string {
  return `ask:${askID}:${part}`;
}
