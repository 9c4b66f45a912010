import { z } from 'zod';
import { Json } from '../../json.ts';
import { secret } from '../../secret.ts';
import { definePreset, id, type PresetCall, type PresetPaging, text, wanted } from './define-preset.ts';

/** Slack recommends at most 200 items per page. */
const paging: PresetPaging = {
  wanted: 'limit',
  size: 'limit',
  maxPageSize: 200,
  by: { type: 'cursor', cursorParam: 'cursor', cursorPath: 'response_metadata.next_cursor' },
};

const channel = { channel: 'channelId' };
const message = { ...channel, text: 'message', blocks: 'blocks' };

function post(method: string, body: Readonly<Record<string, string>>, needs: readonly string[]): PresetCall {
  return { method: 'POST', path: `/${method}`, body, needs };
}

export const slack = definePreset({
  type: 'slack',
  label: 'Slack',
  options: z.object({ botToken: secret(z.string().max(500)).meta({ title: 'Bot token' }) }),
  query: z.object({
    resource: z.enum(['channels', 'users', 'messages', 'conversations', 'reactions']),
    operation: z.enum([
      'list',
      'info',
      'lookupByEmail',
      'history',
      'replies',
      'members',
      'create',
      'invite',
      'join',
      'archive',
      'open',
      'post',
      'postEphemeral',
      'schedule',
      'update',
      'delete',
      'permalink',
      'add',
      'remove',
    ]),
    channelId: id,
    userId: id,
    userIds: z.string().max(8_000).default('').meta({ description: 'Joined by commas' }),
    email: id,
    name: z.string().max(255).default('').meta({ description: 'Of a channel, or of a reaction' }),
    isPrivate: z.boolean().default(false),
    types: z.string().max(200).default('').meta({ description: 'Such as public_channel,private_channel' }),
    message: text,
    blocks: z.array(Json).max(50).default([]),
    timestamp: id.meta({ description: 'ts of a message' }),
    threadTimestamp: id.meta({ description: 'ts of the message that is answered' }),
    postAt: z.int().min(1).optional().meta({ description: 'Seconds since 1970' }),
    oldest: id,
    latest: id,
    limit: wanted,
  }),
  defaults: { options: { botToken: '' }, query: { resource: 'channels', operation: 'list' } },
  preset: {
    baseUrl: 'https://slack.com/api',
    auth: { as: 'bearer', token: 'botToken' },
    bodyFormat: 'json',
    probe: '/auth.test',
    failure: { ok: 'ok', message: 'error' },
    calls: {
      'channels.list': {
        method: 'GET',
        path: '/conversations.list',
        params: { types: 'types' },
        items: 'channels',
        paging,
      },
      'channels.info': { method: 'GET', path: '/conversations.info', params: channel, needs: ['channelId'] },
      'channels.members': {
        method: 'GET',
        path: '/conversations.members',
        params: channel,
        needs: ['channelId'],
        items: 'members',
        paging,
      },
      'channels.create': post('conversations.create', { name: 'name', is_private: 'isPrivate' }, ['name']),
      'channels.invite': post('conversations.invite', { ...channel, users: 'userIds' }, ['channelId', 'userIds']),
      'channels.join': post('conversations.join', channel, ['channelId']),
      'channels.archive': post('conversations.archive', channel, ['channelId']),
      'users.list': { method: 'GET', path: '/users.list', items: 'members', paging },
      'users.info': { method: 'GET', path: '/users.info', params: { user: 'userId' }, needs: ['userId'] },
      'users.lookupByEmail': {
        method: 'GET',
        path: '/users.lookupByEmail',
        params: { email: 'email' },
        needs: ['email'],
      },
      'messages.post': post('chat.postMessage', { ...message, thread_ts: 'threadTimestamp' }, ['channelId', 'message']),
      'messages.postEphemeral': post(
        'chat.postEphemeral',
        { ...message, user: 'userId', thread_ts: 'threadTimestamp' },
        ['channelId', 'userId', 'message'],
      ),
      'messages.schedule': post(
        'chat.scheduleMessage',
        { ...message, post_at: 'postAt', thread_ts: 'threadTimestamp' },
        ['channelId', 'message', 'postAt'],
      ),
      'messages.update': post('chat.update', { ...message, ts: 'timestamp' }, ['channelId', 'timestamp', 'message']),
      'messages.delete': post('chat.delete', { ...channel, ts: 'timestamp' }, ['channelId', 'timestamp']),
      'messages.permalink': {
        method: 'GET',
        path: '/chat.getPermalink',
        params: { ...channel, message_ts: 'timestamp' },
        needs: ['channelId', 'timestamp'],
      },
      'conversations.history': {
        method: 'GET',
        path: '/conversations.history',
        params: { ...channel, oldest: 'oldest', latest: 'latest' },
        needs: ['channelId'],
        items: 'messages',
        paging,
      },
      'conversations.replies': {
        method: 'GET',
        path: '/conversations.replies',
        params: { ...channel, ts: 'threadTimestamp', oldest: 'oldest', latest: 'latest' },
        needs: ['channelId', 'threadTimestamp'],
        items: 'messages',
        paging,
      },
      'conversations.open': post('conversations.open', { users: 'userIds' }, ['userIds']),
      'reactions.add': post('reactions.add', { ...channel, name: 'name', timestamp: 'timestamp' }, [
        'channelId',
        'name',
        'timestamp',
      ]),
      'reactions.remove': post('reactions.remove', { ...channel, name: 'name', timestamp: 'timestamp' }, [
        'channelId',
        'name',
        'timestamp',
      ]),
    },
  },
});
