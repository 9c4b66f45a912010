import type { z } from 'zod';
import { CHAT_CHANNEL, type ChatSignal } from '#shared/ai/chat.ts';
import { asData, dataRule } from '#shared/ai/data.ts';
import { tooLate } from '#shared/ask.ts';
import type { Messages } from '#shared/backplane/index.ts';
import type { Caller } from '#shared/caller.ts';
import type { Pool } from '#shared/db/pool.ts';
import { AppError, toAppError } from '#shared/errors.ts';
import type { Logger } from '#shared/logger.ts';
import type { AI, AIRequest, CountedCall } from './calls.ts';
import { loadSDK } from './calls.ts';
import { claimAnswer, endAnswer, readConversation, renewAnswer } from './chat-rows.ts';
import { ChunkWriter } from './chunk-writer.ts';

interface ChatQuestion {
  tenantID: string;
  caller: Caller;
  answerID: string;
  /** Where the user is in the client. */
  place: string | null;
}

interface Needs {
  pool: Pool;
  ai: Pick<AI, 'counted'>;
  messages: Messages;
  logger: Logger;
}

const MAX_OUTPUT_TOKENS = 8_000;
/** How soon a call ends of which the rows say that its answer is not wanted any more. */
const RENEW_MS = 700;

const instructions = [
  'You assist a user of Gantry, a service in which tenants have datasources, queries, workflows, widgets and app pages. Answer in the language of the user, briefly. You cannot read or change anything of the tenant: say so when you are asked to, and never claim that you did.',
  dataRule,
].join('\n\n');

/** Answers the last message of a session. Chunks are rows, so that every process can send them to the client. */
export async function answerChat(
  { pool, ai, messages, logger }: Needs,
  { tenantID, caller, answerID, place }: ChatQuestion,
  signal: AbortSignal,
): Promise<{ text: string; model: string; inputTokens: number; outputTokens: number }> {
  const sessionID = await claimAnswer(pool, answerID);
  if (!sessionID) throw tooLate({ begun: false, gone: true });
  const unwanted = new AbortController();
  const drop = () => unwanted.abort(tooLate({ begun: true, gone: true }));
  const until = AbortSignal.any([signal, unwanted.signal]);
  const tell = () => {
    messages
      .publish(CHAT_CHANNEL, { answerID } satisfies z.input<typeof ChatSignal>)
      .catch((error) => logger.debug({ err: error }, 'readers of an answer not woken; they look by themselves'));
  };
  const writer = new ChunkWriter({ pool, answerID, tell, drop });
  const beat = setInterval(() => {
    renewAnswer(pool, answerID).then(
      (isWanted) => isWanted || drop(),
      (error) => logger.debug({ err: error }, 'answer not renewed; the next round will'),
    );
  }, RENEW_MS);
  try {
    const conversation = await readConversation(pool, sessionID);
    const given = place === null ? instructions : `${instructions}\n\n${asData('where the user is', place)}`;
    const request: AIRequest = {
      ...{ id: answerID, tenantID, caller, purpose: 'chat', instructions: given, messages: conversation },
      ...{ maxOutputTokens: MAX_OUTPUT_TOKENS, signal: until },
    };
    const answer = await ai.counted(request, (call) => stream(call, request, { writer, answerID }));
    await writer.flush();
    await endAnswer(pool, { answerID, status: 'done', text: writer.text });
    return answer;
  } catch (error) {
    const known = toAppError(error);
    await writer.flush().catch(() => {});
    const status = until.aborted ? 'cancelled' : 'failed';
    await endAnswer(pool, { answerID, status, error: known, text: writer.text });
    throw known;
  } finally {
    clearInterval(beat);
    tell();
  }
}

interface Streaming {
  writer: ChunkWriter;
  answerID: string;
}

async function stream({ model, settings, note }: CountedCall, request: AIRequest, { writer, answerID }: Streaming) {
  const { streamText, toUIMessageStream } = await loadSDK();
  const { messages, maxOutputTokens, signal } = request;
  let failure: unknown;
  const result = streamText({
    model,
    instructions: request.instructions,
    messages: messages.map(({ role, content }) => ({ role, content })),
    maxOutputTokens,
    maxRetries: 1,
    abortSignal: signal,
    onError: ({ error }) => {
      failure ??= error;
    },
  });
  const chunks = toUIMessageStream({ stream: result.stream, generateMessageId: () => answerID });
  for await (const chunk of chunks) {
    if (chunk.type === 'error') throw failure ?? new AppError('UPSTREAM_FAILED', chunk.errorText);
    if (chunk.type === 'abort') break;
    await writer.add(chunk);
  }
  signal.throwIfAborted();
  const usage = await result.totalUsage;
  note(usage);
  const { inputTokens = 0, outputTokens = 0 } = usage;
  return { text: '', model: settings.model, inputTokens, outputTokens };
}
