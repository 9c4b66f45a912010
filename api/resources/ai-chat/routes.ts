import { z } from 'zod';
import { CHAT_CHANNEL, TOOLS_CHANNEL } from '#shared/apps/ai/chat.ts';
import { dropAnswer, findOpenAnswer, resetSessions } from '../../ai/chat.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { readMessages } from './messages.ts';
import { ChatParams, ChatSessions, History, HistoryQuery, SessionQuery } from './schemas.ts';
import { hasOwnModel, listSessions } from './sessions.ts';
import { resumeChat, streamChat } from './stream.ts';

export const aiChatRoutes = [
  streamChat,
  resumeChat,

  tenantRoute({
    name: 'stopAiChat',
    method: 'delete',
    path: '/ai/chat/stream/:chatID/stream',
    summary: 'Stop an answer',
    description:
      'Ends the answer that is being written in a session of the caller, also one that would go on without a client. What it has said is kept. `stopped` is false if none is being written.',
    permission: 'ai.execute',
    object: () => 'ai:*',
    params: ChatParams,
    response: z.object({ stopped: z.boolean() }),

    async handle({ params: { chatID }, tenantID, caller, log }, { pool, messaging: { backplane } }) {
      const answer = await findOpenAnswer(pool, { tenantID, caller, chatID });
      if (!answer) return { stopped: false };
      const { answerID } = answer;
      await dropAnswer(pool, answerID);
      const wake = (channel: string, message: object) =>
        backplane.messages
          .publish(channel, message)
          .catch((error) => log.debug({ err: error }, 'processes not woken; they look by themselves'));
      await Promise.all([wake(TOOLS_CHANNEL, { unwanted: answerID }), wake(CHAT_CHANNEL, { answerID })]);
      return { stopped: true };
    },
  }),

  tenantRoute({
    name: 'listAiChatSessions',
    method: 'get',
    path: '/ai/chat/sessions',
    summary: 'List the chats',
    description: 'Returns the sessions of the caller, at most 100, the one that was used last first.',
    permission: 'ai.execute',
    object: () => 'ai:*',
    response: ChatSessions,
    isPrivate: true,

    async handle({ tenantID, caller }, { pool, config: { ai } }) {
      const hasModel = ai !== null || (await hasOwnModel(pool, tenantID));
      return { hasModel, sessions: await listSessions(pool, { tenantID, caller }) };
    },
  }),

  tenantRoute({
    name: 'getAiChatSession',
    method: 'get',
    path: '/ai/chat/session',
    summary: 'Get the messages of a chat',
    description:
      'Returns the stored messages of a session of the caller, oldest first, as `useChat` takes them. Of a long session these are the newest, about 2 MB; then `isCut` is true.',
    permission: 'ai.execute',
    object: () => 'ai:*',
    query: HistoryQuery,
    response: History,
    isPrivate: true,

    async handle({ query: { id: chatID }, tenantID, caller }, { pool }) {
      return readMessages(pool, { tenantID, caller, chatID });
    },
  }),

  tenantRoute({
    name: 'resetAiChatSession',
    method: 'delete',
    path: '/ai/chat/session',
    summary: 'Reset the chat',
    description:
      'Forgets a session of the caller, or all of them, with their messages. Answers that are being written end.',
    permission: 'ai.execute',
    object: () => 'ai:*',
    query: SessionQuery,
    response: z.object({ cleared: z.literal(true), message: Message }),

    async handle({ query: { id: chatID = null }, tenantID, caller }, { pool }) {
      await resetSessions(pool, { tenantID, caller, chatID });
      return { cleared: true as const, message: 'Chat reset' };
    },
  }),
];
