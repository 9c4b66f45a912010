import { z } from 'zod';
import { JsonObject } from '../../../core/json.ts';
import { destination } from '../../../core/schema/secret.ts';
import {
  definePreset,
  fieldsOf,
  id,
  joined,
  named,
  operation,
  type PresetCall,
  type PresetPaging,
  resource,
  token,
  wanted,
} from './define-preset.ts';

/** Lists of suppressed addresses, which all have the same form. */
function suppressed(list: string): Record<string, PresetCall> {
  const path = `/suppression/${list}`;
  return {
    list: {
      method: 'GET',
      path,
      filters: 'params',
      items: '',
      paging: { wanted: 'limit', size: 'limit', maxPageSize: 500, by: { type: 'offset' } },
    },
    get: { method: 'GET', path: `${path}/{email}`, items: '' },
    delete: { method: 'DELETE', path: `${path}/{email}` },
  };
}

const linked = (maxPageSize: number): PresetPaging => ({
  wanted: 'limit',
  size: 'page_size',
  maxPageSize,
  by: { type: 'link', path: '_metadata.next' },
});

const { list: unsubscribed } = suppressed('unsubscribes');

export const sendgrid = definePreset({
  type: 'sendgrid',
  label: 'SendGrid',
  options: z.object({
    apiKey: token('API key', 'With the permissions that the queries need'),
    host: destination(z.enum(['api.sendgrid.com', 'api.eu.sendgrid.com']))
      .default('api.sendgrid.com')
      .meta({ title: 'Host', description: 'Server of the API: `api.eu.sendgrid.com` for regional subusers in the EU' }),
  }),
  query: z.object({
    resource: resource([
      'stats',
      'messages',
      'contacts',
      'lists',
      'templates',
      'suppressions',
      'blocks',
      'invalidEmails',
      'spamReports',
      'unsubscribes',
    ]),
    operation: operation(['list', 'get', 'send', 'create', 'update', 'upsert', 'search', 'count', 'delete']),
    resourceId: id('Id', 'Id of the contact, the list or the template'),
    email: id('Address', 'E-mail address in a list of suppressed ones, such as name@example.com'),
    params: fieldsOf(
      'Content',
      'What is sent or created, in the form of the API of SendGrid: `personalizations`, `from`, `subject`, `content`; for lists of suppressed addresses their filters',
    ),
    contacts: z
      .array(JsonObject)
      .max(30_000)
      .default([])
      .meta({ title: 'Contacts', description: 'Such as {"email": "name@example.com", "first_name": "Ada"}' }),
    listIds: z
      .array(z.string().max(100))
      .max(100)
      .default([])
      .meta({ title: 'Lists', description: 'Ids of the lists that the contacts are added to' }),
    contactIds: joined('Ids of contacts', 'Contacts that are deleted, by their ids'),
    searchQuery: z.string().max(8_000).default('').meta({
      title: 'Search',
      description: "In the query language of SendGrid, such as email LIKE '%@example.com'",
    }),
    startDate: id('From', 'First day of the statistics, such as 2026-01-31'),
    endDate: id('To', 'Last day of the statistics, such as 2026-02-28. Empty: today'),
    aggregatedBy: z
      .enum(['day', 'week', 'month'])
      .optional()
      .meta({ title: 'Summed up by', description: 'Period of each figure. Empty: day' }),
    limit: wanted,
  }),
  defaults: { options: { apiKey: '' }, query: { resource: 'templates', operation: 'list' } },
  preset: {
    baseUrl: 'https://{host}/v3',
    auth: { as: 'bearer', token: 'apiKey' },
    bodyFormat: 'json',
    probe: '/scopes',
    calls: {
      'stats.list': {
        method: 'GET',
        path: '/stats',
        params: { start_date: 'startDate', end_date: 'endDate', aggregated_by: 'aggregatedBy' },
        needs: ['startDate'],
        items: '',
      },
      'messages.send': { method: 'POST', path: '/mail/send', body: 'params', needs: ['params'] },
      'templates.list': {
        method: 'GET',
        path: '/templates?generations=legacy,dynamic',
        items: 'result',
        paging: linked(200),
      },
      'templates.get': { method: 'GET', path: '/templates/{resourceId}' },
      'templates.create': { method: 'POST', path: '/templates', body: 'params', needs: ['params'] },
      'templates.update': { method: 'PATCH', path: '/templates/{resourceId}', body: 'params', needs: ['params'] },
      'templates.delete': { method: 'DELETE', path: '/templates/{resourceId}' },
      'contacts.list': { method: 'GET', path: '/marketing/contacts', items: 'result' },
      'contacts.get': { method: 'GET', path: '/marketing/contacts/{resourceId}' },
      'contacts.count': { method: 'GET', path: '/marketing/contacts/count' },
      'contacts.search': {
        method: 'POST',
        path: '/marketing/contacts/search',
        body: { query: 'searchQuery' },
        needs: ['searchQuery'],
        items: 'result',
      },
      'contacts.upsert': {
        method: 'PUT',
        path: '/marketing/contacts',
        body: { list_ids: 'listIds', contacts: 'contacts' },
        needs: ['contacts'],
      },
      'contacts.delete': {
        method: 'DELETE',
        path: '/marketing/contacts',
        params: { ids: 'contactIds' },
        needs: ['contactIds'],
      },
      'lists.list': { method: 'GET', path: '/marketing/lists', items: 'result', paging: linked(1_000) },
      'lists.get': { method: 'GET', path: '/marketing/lists/{resourceId}' },
      'lists.create': { method: 'POST', path: '/marketing/lists', body: 'params', needs: ['params'] },
      'lists.update': { method: 'PATCH', path: '/marketing/lists/{resourceId}', body: 'params', needs: ['params'] },
      'lists.delete': { method: 'DELETE', path: '/marketing/lists/{resourceId}' },
      ...named('suppressions', suppressed('bounces')),
      ...named('blocks', suppressed('blocks')),
      ...named('invalidEmails', suppressed('invalid_emails')),
      ...named('spamReports', suppressed('spam_reports')),
      ...named('unsubscribes', unsubscribed ? { list: unsubscribed } : {}),
    },
  },
});
