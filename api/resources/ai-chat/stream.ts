import { z } from 'zod';
import { CHAT_TIMEOUT_MS } from '#shared/ai/chat.ts';
import { toAppError } from '#shared/errors.ts';
import { newID } from '#shared/ids.ts';
import { aiCalls } from '#shared/queues/ai-calls.ts';
import { beginAnswer, failAnswer, findOpenAnswer } from '../../db/ai-chat.ts';
import { tenantRoute } from '../../http/route.ts';
import { ChatParams, ChatRequest } from './schemas.ts';

export const streamChat = tenantRoute({
  name: 'streamAiChat',
  method: 'post',
  path: '/ai/chat/stream',
  summary: 'Chat with the language model',
  description:
    'Answers the last message as server-sent events in the UI-message protocol of the AI SDK, for `useChat`. The conversation is what is stored in the session. When the client goes away the answer ends, unless it is `resumable`. The error of an answer that has said nothing yet is the answer to the request.',
  permission: 'ai.execute',
  object: () => 'ai:*',
  body: ChatRequest,
  produces: 'text/event-stream',
  response: z.object({}),
  errors: ['429', '502', '504'],
  idempotent: false,
  isPrivate: true,

  async handle({ body, caller, tenantID, signal, response, log }, { pool, producer, answers }) {
    const { chatID, message, place, isResumable } = body;
    const chat = { tenantID, caller, chatID: chatID ?? newID() };
    const said = message && { text: message.text, messageID: message.messageID ?? newID() };
    const answerID = await beginAnswer(pool, chat, { message: said, isResumable });
    const over = new AbortController();
    const until = isResumable ? over.signal : AbortSignal.any([signal, over.signal]);
    const asked = producer.ask(
      aiCalls,
      { kind: 'chat', tenantID, caller, answerID, place },
      { timeoutMs: CHAT_TIMEOUT_MS, lanes: { tenant: tenantID }, signal: until },
    );
    asked
      .catch((error) => failAnswer(pool, answerID, toAppError(error)))
      .catch((error) => log.warn({ err: error }, 'an answer that was not begun is not marked; it ends with its time'))
      .finally(() => answers.wake(answerID));
    try {
      await answers.send({ answerID, tenantID, callerID: caller.id }, response);
    } finally {
      // A worker that is gone replies to nothing, and its question would keep its place.
      if (!signal.aborted) setTimeout(() => over.abort(), REPLY_MS).unref();
    }
    return {};
  },
});

/** The rows say that an answer is over before its worker replies. */
const REPLY_MS = 2_000;

export const resumeChat = tenantRoute({
  name: 'resumeAiChat',
  method: 'get',
  path: '/ai/chat/stream/:chatID/stream',
  summary: 'Resume an answer',
  description:
    'Sends the answer that is being written in a session of the caller, from its beginning, from whichever process. 204 without content: none is being written.',
  permission: 'ai.execute',
  object: () => 'ai:*',
  params: ChatParams,
  produces: 'text/event-stream',
  response: z.object({}),
  errors: ['429'],

  async handle({ params: { chatID }, tenantID, caller, response }, { pool, answers }) {
    const answerID = await findOpenAnswer(pool, { tenantID, caller, chatID });
    if (answerID) await answers.send({ answerID, tenantID, callerID: caller.id }, response);
    else response.status(204).end();
    return {};
  },
});
