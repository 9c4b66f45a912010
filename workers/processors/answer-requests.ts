import type { z } from 'zod';
import { currentReservation, Permit } from '#shared/concurrency/work-context.ts';
import { AppError, type ErrorCode, toWireError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import { askContext } from '#shared/messaging/queues/define-ask.ts';
import type { AnyAsk } from '#shared/messaging/queues/index.ts';
import { type AskOutcome, claimQuestion, replyMarginMs, tooLate } from '#shared/messaging/rpc.ts';
import { knownError } from '../outbound/upstream-error.ts';
import type { ProcessorContext } from './consume.ts';

/** Answers the questions of a queue. It runs once for each question, even if another worker holds the same job. */
export type Answerer<D extends AnyAsk> = (
  ask: { question: z.output<D['question']>; signal: AbortSignal },
  context: ProcessorContext,
) => Promise<z.input<D['answer']>>;

interface QuestionJob {
  payload: z.output<AnyAsk['payload']>;
  signal: AbortSignal;
}

/** Bytes of JSON. A longer answer would not fit a notification of Postgres once it is sealed. */
const MAX_INLINE_BYTES = 4 * 1024;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/**
 * The processor of a queue of questions: waits for the turn of its tenant, then claimQuestion, openQuestion, answer, sendReply. A
 * question that waits is not claimed yet, so its asker may still withdraw it. The result of the job says only how it ended.
 */
export function answerQuestions<D extends AnyAsk>(definition: D, answer: Answerer<D>) {
  return async ({ payload, signal }: QuestionJob, context: ProcessorContext): Promise<{ outcome: string }> => {
    const { askID, replyTo, deadline } = payload;
    const leftMs = deadline - Date.now();
    if (leftMs <= 0) return { outcome: 'too late' };

    using cancel = context.cancels.of(askID);
    const until = AbortSignal.any([signal, cancel.signal, AbortSignal.timeout(leftMs - replyMarginMs(leftMs))]);
    using permit = await acquirePermit(payload, until, context);
    if (!permit) return { outcome: 'too late' };
    if (!(await claimQuestion(context.pool, askID))) return { outcome: 'withdrawn' };
    const outcome = await permit.run(() =>
      outcomeOf(context, until, async () => {
        const question = openQuestion(definition, payload, context);
        return definition.answer.parse(await answer({ question, signal: until }, context));
      }),
    );
    await sendReply(outcome.text, { askID, replyTo }, context);
    return { outcome: outcome.code ?? 'answered' };
  };
}

/** Undefined when the signal was faster. */
async function acquirePermit(
  { tenantID, isShort = false, replyTo }: QuestionJob['payload'],
  until: AbortSignal,
  { turns, answering, bytes }: ProcessorContext,
): Promise<Permit | undefined> {
  // Processes of an earlier version do not say whose question it is. Each of those is a tenant here.
  const flow = tenantID === undefined ? { tenantID: replyTo, isShort } : await turns.of({ tenantID, isShort });
  const isAcquired = answering.tryAcquire(flow) || (await answering.acquire(flow, until));
  return isAcquired ? new Permit(answering, flow, bytes.openReservation(flow)) : undefined;
}

function openQuestion<D extends AnyAsk>(
  definition: D,
  { askID, sealed }: QuestionJob['payload'],
  { secrets }: ProcessorContext,
): z.output<D['question']> {
  const text = secrets.open(sealed, askContext(askID, 'question'));
  // Safe: the schema is the definition's own, so its output has the question's type.
  return definition.question.parse(JSON.parse(text)) as z.output<D['question']>;
}

interface Outcome {
  text: string;
  code?: ErrorCode;
}

/** Runs the work and returns its answer or error as JSON text. */
async function outcomeOf(
  { logger }: ProcessorContext,
  until: AbortSignal,
  work: () => Promise<unknown>,
): Promise<Outcome> {
  try {
    const text = textOf({ answer: (await work()) as Json });
    // The text and what is sealed of it.
    await currentReservation()?.reserve(2 * text.length);
    if (Buffer.byteLength(text) <= MAX_ANSWER_BYTES) return { text };
    throw new AppError('PAYLOAD_TOO_LARGE', `The answer is larger than ${MAX_ANSWER_BYTES} bytes: request less data`);
  } catch (error) {
    // The error of an aborted operation has no message for a client.
    const known = until.aborted && !(error instanceof AppError) ? tooLate({ begun: true }) : knownError(error);
    if (known.code === 'INTERNAL_ERROR') logger.error({ err: error }, 'a question could not be answered');
    else logger.debug({ err: error }, 'a question was answered with an error');
    return { text: textOf({ error: toWireError(known) }), code: known.code };
  }
}

function textOf(outcome: z.input<typeof AskOutcome>): string {
  return JSON.stringify(outcome);
}

async function sendReply(
  text: string,
  { askID, replyTo }: { askID: string; replyTo: string },
  { pool, secrets, messages }: ProcessorContext,
): Promise<void> {
  const sealed = secrets.seal(text, askContext(askID, 'answer'));
  if (Buffer.byteLength(text) <= MAX_INLINE_BYTES) return messages.publish(replyTo, { askID, sealed });
  await pool.query(
    `insert into ask_reply (ask_id, sealed, expires_at) values ($1, $2, now() + interval '5 minutes') on conflict do nothing`,
    [askID, sealed],
  );
  await messages.publish(replyTo, { askID, bytes: sealed.length });
}
