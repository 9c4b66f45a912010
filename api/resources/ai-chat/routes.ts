import { z } from 'zod';
import { resetSessions } from '../../ai/chat.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { readMessages } from './messages.ts';
import { History, HistoryQuery, SessionQuery } from './schemas.ts';
import { resumeChat, streamChat } from './stream.ts';

export const aiChatRoutes = [
  streamChat,
  resumeChat,

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
