import { z } from 'zod';
import {
  definePreset,
  fieldsOf,
  id,
  named,
  operation,
  type PresetCall,
  resource,
  token,
  wanted,
} from './define-preset.ts';

const account = '/Accounts/{accountSid}';

/** Twilio's paths are regular: resources differ only in which of these calls they have. */
function calls(path: string, items: string): Record<'list' | 'fetch' | 'create' | 'update' | 'delete', PresetCall> {
  const one = `${path}/{resourceSid}.json`;
  return {
    list: {
      method: 'GET',
      path: `${path}.json`,
      filters: 'params',
      items,
      paging: { wanted: 'limit', size: 'PageSize', maxPageSize: 1_000, by: { type: 'link', path: 'next_page_uri' } },
    },
    fetch: { method: 'GET', path: one },
    create: { method: 'POST', path: `${path}.json`, body: 'params', needs: ['params'] },
    update: { method: 'POST', path: one, body: 'params', needs: ['params'] },
    delete: { method: 'DELETE', path: one },
  };
}

const { create: _recorded, update: _fixed, ...recordings } = calls(`${account}/Recordings`, 'recordings');
const { delete: _closed, ...accounts } = calls('/Accounts', 'accounts');

export const twilio = definePreset({
  type: 'twilio',
  label: 'Twilio',
  options: z.object({
    accountSid: z
      .string()
      .regex(/^AC[0-9a-fA-F]{32}$/, 'must be AC and 32 hexadecimal digits')
      .meta({ title: 'Account SID', description: 'Id of the account: AC and 32 hexadecimal digits' }),
    authToken: token('Auth token', 'Of the account, as its console shows it'),
  }),
  query: z.object({
    resource: resource(['messages', 'calls', 'accounts', 'phonenumbers', 'recordings', 'balance']),
    operation: operation(['list', 'fetch', 'create', 'update', 'delete']),
    resourceSid: id('SID', 'Id of the resource, such as SM and 32 hexadecimal digits'),
    params: fieldsOf(
      'Parameters',
      'By the names of the API of Twilio, such as {"To": "+15551234567", "From": "+15557654321", "Body": "Hello"}; for a list its filters',
    ),
    limit: wanted,
  }),
  defaults: {
    options: { accountSid: 'AC00000000000000000000000000000000', authToken: '' },
    query: { resource: 'messages', operation: 'list' },
  },
  preset: {
    baseUrl: 'https://api.twilio.com/2010-04-01',
    auth: { as: 'basic', username: 'accountSid', password: 'authToken' },
    bodyFormat: 'form',
    probe: '/Accounts/{accountSid}.json',
    calls: {
      ...named('messages', calls(`${account}/Messages`, 'messages')),
      ...named('calls', calls(`${account}/Calls`, 'calls')),
      ...named('phonenumbers', calls(`${account}/IncomingPhoneNumbers`, 'incoming_phone_numbers')),
      ...named('recordings', recordings),
      ...named('accounts', accounts),
      'balance.fetch': { method: 'GET', path: `${account}/Balance.json` },
    },
  },
});
