import { z } from 'zod';
import { secret } from '../../secret.ts';
import { definePreset, fieldsOf, id } from './define-preset.ts';

export const sendgrid = definePreset({
  type: 'sendgrid',
  label: 'SendGrid',
  options: z.object({ apiKey: secret(z.string().max(500)).meta({ title: 'API key' }) }),
  query: z.object({
    resource: z.enum(['stats', 'messages', 'templates', 'suppressions']),
    operation: z.enum(['list', 'get', 'send']),
    resourceId: id,
    /** The mail as SendGrid describes it: personalizations, from, subject, content. */
    params: fieldsOf,
    startDate: id,
    endDate: id,
  }),
  defaults: { options: { apiKey: '' }, query: { resource: 'templates', operation: 'list' } },
  preset: {
    baseUrl: 'https://api.sendgrid.com/v3',
    auth: { as: 'bearer', token: 'apiKey' },
    bodyFormat: 'json',
    probe: '/scopes',
    calls: {
      'stats.list': {
        method: 'GET',
        path: '/stats',
        params: { start_date: 'startDate', end_date: 'endDate' },
        needs: ['startDate'],
      },
      'messages.send': { method: 'POST', path: '/mail/send', body: 'params', needs: ['params'] },
      'templates.list': { method: 'GET', path: '/templates?generations=legacy,dynamic&page_size=200', items: 'result' },
      'templates.get': { method: 'GET', path: '/templates/{resourceId}' },
      'suppressions.list': { method: 'GET', path: '/suppression/bounces' },
    },
  },
});
