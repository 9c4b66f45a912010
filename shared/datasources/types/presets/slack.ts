import { z } from 'zod';
import { Json } from '../../../core/json.ts';
import {
  definePreset,
  id,
  joined,
  operation,
  type PresetCall,
  type PresetPaging,
  resource,
  text,
  token,
  wanted,
} from './define-preset.ts';

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
  options: z.object({ botToken: token('Bot token', 'Of the app in Slack; it begins with xoxb-') }),
  query: z.object({
    resource: resource(['channels', 'users', 'messages', 'conversations', 'reactions']),
    operation: operation([
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
    channelId: id('Channel', 'Id of the channel, such as C0123456789'),
    userId: id('User', 'Id of the user, such as U0123456789'),
    userIds: joined('Users', 'Ids of users'),
    email: id('E-mail address', 'By which `lookupByEmail` finds the user'),
    name: z
      .string()
      .max(255)
      .default('')
      .meta({ title: 'Name', description: 'Of a new channel; or of a reaction, such as thumbsup' }),
    isPrivate: z
      .boolean()
      .default(false)
      .meta({ title: 'Private', description: 'The new channel is seen by its members only' }),
    types: z.string().max(200).default('').meta({
      title: 'Types of channels',
      description: 'Such as public_channel,private_channel. Empty: public channels',
    }),
    message: text('Message', 'Text of the message, with the markup of Slack'),
    blocks: z
      .array(Json)
      .max(50)
      .default([])
      .meta({ title: 'Blocks', description: 'Layout of the message, as the Block Kit of Slack describes it' }),
    timestamp: id('Timestamp of the message', 'Its `ts`, such as 1712345678.123456'),
    threadTimestamp: id(
      'Timestamp of the thread',
      'The `ts` of the message that is answered, or whose replies are read',
    ),
    postAt: z
      .int()
      .min(1)
      .optional()
      .meta({ title: 'Post at', description: 'When `schedule` posts the message, in seconds since 1970' }),
    oldest: id('From', 'Only messages after this `ts`, in seconds since 1970'),
    latest: id('To', 'Only messages before this `ts`, in seconds since 1970'),
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
