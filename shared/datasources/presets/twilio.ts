import { z } from 'zod';
import { secret } from '../../secret.ts';
import { definePreset, fieldsOf, id, limitOf } from './define-preset.ts';

const page = { PageSize: 'limit' };

export const twilio = definePreset({
  type: 'twilio',
  label: 'Twilio',
  options: z.object({
    accountSid: z
      .string()
      .regex(/^AC[0-9a-fA-F]{32}$/, 'must be AC and 32 hexadecimal digits')
      .meta({ title: 'Account SID' }),
    authToken: secret(z.string().max(500)).meta({ title: 'Auth token' }),
  }),
  query: z.object({
    resource: z.enum(['messages', 'calls', 'phonenumbers']),
    operation: z.enum(['list', 'fetch', 'create']),
    resourceSid: id,
    params: fieldsOf,
    limit: limitOf(1_000),
  }),
  defaults: {
    options: { accountSid: 'AC00000000000000000000000000000000', authToken: '' },
    query: { resource: 'messages', operation: 'list' },
  },
  preset: {
    baseUrl: 'https://api.twilio.com/2010-04-01/Accounts/{accountSid}',
    auth: { as: 'basic', username: 'accountSid', password: 'authToken' },
    bodyFormat: 'form',
    probe: '/Messages.json?PageSize=1',
    calls: {
      'messages.list': { method: 'GET', path: '/Messages.json', params: page, items: 'messages' },
      'messages.fetch': { method: 'GET', path: '/Messages/{resourceSid}.json' },
      'messages.create': { method: 'POST', path: '/Messages.json', body: 'params', needs: ['params'] },
      'calls.list': { method: 'GET', path: '/Calls.json', params: page, items: 'calls' },
      'calls.fetch': { method: 'GET', path: '/Calls/{resourceSid}.json' },
      'calls.create': { method: 'POST', path: '/Calls.json', body: 'params', needs: ['params'] },
      'phonenumbers.list': {
        method: 'GET',
        path: '/IncomingPhoneNumbers.json',
        params: page,
        items: 'incoming_phone_numbers',
      },
      'phonenumbers.fetch': { method: 'GET', path: '/IncomingPhoneNumbers/{resourceSid}.json' },
    },
  },
});
