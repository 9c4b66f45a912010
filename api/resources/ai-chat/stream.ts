import { z } from 'zod';
import { TOOLS_CHANNEL, type ToolsSignal } from '#shared/apps/ai/chat.ts';
import { newID } from '#shared/core/ids.ts';
import { beginAnswer, dropAnswer, findOpenAnswer } from '../../ai/chat.ts';
import { tenantRoute } from '../../context/routes.ts';
import { streamOwner } from '../../streams/stream-capacity.ts';
import { decideCalls } from './decisions.ts';
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
  takesData: true,
  body: ChatRequest,
  produces: 'text/event-stream',
  response: z.object({}),
  errors: ['409', '429', '502', '504'],
  idempotent: false,
  isPrivate: true,

  async handle(
    { body, caller, tenantID, signal, response, log },
    { pool, access: { toolRights }, requests: { chatStreams }, messaging: { backplane } },
  ) {
    const { chatID, message, decisions, ...answering } = body;
    const chat = { tenantID, caller, chatID: chatID ?? newID() };
    const newMessage = message && { text: message.text, messageID: message.messageID ?? newID() };
    const answerID =
      decisions.length > 0
        ? await decideCalls({ pool, toolRights }, chat, { decisions, ...answering })
        : await beginAnswer(pool, chat, { message: newMessage, ...answering });
    const wake = (what: z.input<typeof ToolsSignal>) =>
      backplane.messages
        .publish(TOOLS_CHANNEL, what)
        .catch((error) => log.debug({ err: error }, 'processes not woken; they look by themselves'));
    void wake({});
    const leave = () => {
      dropAnswer(pool, answerID)
        .then(() => wake({ unwanted: answerID }))
        .catch((error) => log.warn({ err: error }, 'an answer without a client goes on to its end'));
    };
    if (!body.isResumable) signal.addEventListener('abort', leave, { once: true });
    if (!body.isResumable && signal.aborted) leave();
    const { isResumable } = body;
    await chatStreams.send({ answerID, isResumable, ...streamOwner(caller, tenantID) }, response);
    signal.removeEventListener('abort', leave);
    return {};
  },
});

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

  async handle({ params: { chatID }, tenantID, caller, response }, { pool, requests: { chatStreams } }) {
    const answer = await findOpenAnswer(pool, { tenantID, caller, chatID });
    if (answer) await chatStreams.send({ ...answer, ...streamOwner(caller, tenantID) }, response);
    else response.status(204).end();
    return {};
  },
});
