import { z } from 'zod';
import { secret } from '../../secret.ts';
import { definePreset, id, limitOf } from './define-preset.ts';

export const slack = definePreset({
  type: 'slack',
  label: 'Slack',
  options: z.object({ botToken: secret(z.string().max(500)).meta({ title: 'Bot token' }) }),
  query: z.object({
    resource: z.enum(['channels', 'users', 'messages', 'conversations']),
    operation: z.enum(['list', 'info', 'history', 'post']),
    channelId: id,
    userId: id,
    message: z.string().max(40_000).default(''),
    limit: limitOf(1_000),
  }),
  defaults: { options: { botToken: '' }, query: { resource: 'channels', operation: 'list' } },
  preset: {
    baseUrl: 'https://slack.com/api',
    auth: { as: 'bearer', token: 'botToken' },
    bodyFormat: 'json',
    probe: '/auth.test',
    refusal: { ok: 'ok', message: 'error' },
    calls: {
      'channels.list': { method: 'GET', path: '/conversations.list', params: { limit: 'limit' }, items: 'channels' },
      'channels.info': {
        method: 'GET',
        path: '/conversations.info',
        params: { channel: 'channelId' },
        needs: ['channelId'],
      },
      'users.list': { method: 'GET', path: '/users.list', params: { limit: 'limit' }, items: 'members' },
      'users.info': { method: 'GET', path: '/users.info', params: { user: 'userId' }, needs: ['userId'] },
      'messages.post': {
        method: 'POST',
        path: '/chat.postMessage',
        body: { channel: 'channelId', text: 'message' },
        needs: ['channelId', 'message'],
      },
      'conversations.history': {
        method: 'GET',
        path: '/conversations.history',
        params: { channel: 'channelId', limit: 'limit' },
        needs: ['channelId'],
        items: 'messages',
      },
    },
  },
});
