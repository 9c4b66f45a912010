import type { z } from 'zod';
import { currentReservation, Permit } from '#shared/concurrency/work-context.ts';
import { AppError, type ErrorCode, toWireError } from '#shared/core/errors.ts';
import { type Json, ofParsedJSON } from '#shared/core/json.ts';
import { rpcContext } from '#shared/messaging/queues/define-rpc.ts';
import type { AnyRPC } from '#shared/messaging/queues/index.ts';
import { claimRequest, type RPCOutcome, replyMarginMs, tooLate } from '#shared/messaging/rpc.ts';
import { openMessage, sealMessage } from '#shared/messaging/sealed-messages.ts';
import { knownError } from '../outbound/upstream-error.ts';
import type { ProcessorContext } from './consume.ts';

/** Handles the requests of a queue. It runs once for each request, even if another worker has the same job. */
export type RPCHandler<D extends AnyRPC> = (
  call: { request: z.output<D['request']>; signal: AbortSignal },
  context: ProcessorContext,
) => Promise<z.input<D['response']>>;

interface RequestJob {
  payload: z.output<AnyRPC['payload']>;
  signal: AbortSignal;
}

/** Bytes of JSON. A longer response would not fit a notification of Postgres once it is sealed. */
const MAX_INLINE_BYTES = 4 * 1024;
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/**
 * The processor of a queue of requests: waits for a permit of its tenant, then claimRequest, openRequest, handle, sendReply. A
 * request that waits for its permit is not claimed yet, so its caller may still withdraw it. The result of the job is only its outcome.
 */
export function answerRequests<D extends AnyRPC>(definition: D, handle: RPCHandler<D>) {
  return async ({ payload, signal }: RequestJob, context: ProcessorContext): Promise<{ outcome: string }> => {
    const { askID, replyTo, deadline } = payload;
    const leftMs = deadline - Date.now();
    if (leftMs <= 0) return { outcome: 'too late' };

    using cancel = context.cancels.of(askID);
    const until = AbortSignal.any([signal, cancel.signal, AbortSignal.timeout(leftMs - replyMarginMs(leftMs))]);
    using permit = await acquirePermit(payload, until, context);
    if (!permit) return { outcome: 'too late' };
    if (!(await claimRequest(context.pool, askID))) return { outcome: 'withdrawn' };
    const outcome = await permit.run(() =>
      outcomeOf(context, until, async () => {
        const request = await openRequest(definition, payload, context);
        return definition.response.parse(await handle({ request, signal: until }, context));
      }),
    );
    await sendReply(outcome.text, { askID, replyTo }, context);
    return { outcome: outcome.code ?? 'answered' };
  };
}

/** Waits for a permit. Undefined if the signal aborts first. */
async function acquirePermit(
  { tenantID, isShort = false, replyTo }: RequestJob['payload'],
  until: AbortSignal,
  { flowKeys, answering, bytes }: ProcessorContext,
): Promise<Permit | undefined> {
  // Processes of an earlier version do not send the tenant. Each such process then counts as one tenant.
  const flow = tenantID === undefined ? { tenantID: replyTo, isShort } : await flowKeys.of({ tenantID, isShort });
  const isAcquired = answering.tryAcquire(flow) || (await answering.acquire(flow, until));
  return isAcquired ? new Permit(answering, flow, bytes.openReservation(flow)) : undefined;
}

async function openRequest<D extends AnyRPC>(
  definition: D,
  { askID, sealed }: RequestJob['payload'],
  { secrets }: ProcessorContext,
): Promise<z.output<D['request']>> {
  const value = await openMessage(secrets, sealed, rpcContext(askID, 'question'));
  // Safe: the schema is the definition's own, so its output has the request's type.
  return ofParsedJSON(() => definition.request.parse(value)) as z.output<D['request']>;
}

interface Outcome {
  text: string;
  code?: ErrorCode;
}

/** Runs the work and returns its response or error as JSON text. */
async function outcomeOf(
  { logger }: ProcessorContext,
  until: AbortSignal,
  work: () => Promise<unknown>,
): Promise<Outcome> {
  try {
    const text = textOf({ answer: (await work()) as Json });
    // The text and its sealed copy are in memory at the same time.
    await currentReservation()?.reserve(2 * text.length);
    if (Buffer.byteLength(text) <= MAX_RESPONSE_BYTES) return { text };
    throw new AppError('PAYLOAD_TOO_LARGE', `The answer is larger than ${MAX_RESPONSE_BYTES} bytes: request less data`);
  } catch (error) {
    // The error of an aborted operation has no message for a client.
    const known = until.aborted && !(error instanceof AppError) ? tooLate({ begun: true }) : knownError(error);
    if (known.code === 'INTERNAL_ERROR') logger.error({ err: error }, 'a request could not be answered');
    else logger.debug({ err: error }, 'a request was answered with an error');
    return { text: textOf({ error: toWireError(known) }), code: known.code };
  }
}

function textOf(outcome: z.input<typeof RPCOutcome>): string {
  return JSON.stringify(outcome);
}

async function sendReply(
  text: string,
  { askID, replyTo }: { askID: string; replyTo: string },
  { pool, secrets, messages }: ProcessorContext,
): Promise<void> {
  const sealed = await sealMessage(secrets, text, rpcContext(askID, 'answer'));
  if (Buffer.byteLength(text) <= MAX_INLINE_BYTES) return messages.publish(replyTo, { askID, sealed });
  await pool.query(
    `insert into ask_reply (ask_id, sealed, expires_at) values ($1, $2, now() + interval '5 minutes') on conflict do nothing`,
    [askID, sealed],
  );
  await messages.publish(replyTo, { askID, bytes: sealed.length });
}
