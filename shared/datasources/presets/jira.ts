import { z } from 'zod';
import { secret } from '../../secret.ts';
import { definePreset, fieldsOf, id, limitOf } from './define-preset.ts';

const page = { startAt: 'startAt', maxResults: 'maxResults' };

/** The Cloud product. */
export const jira = definePreset({
  type: 'jira',
  label: 'Jira',
  options: z.object({
    host: z
      .string()
      .regex(/^(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i, 'must be a host name, such as example.atlassian.net')
      .meta({ title: 'Host' }),
    email: z.email().meta({ title: 'Email' }),
    apiToken: secret(z.string().max(1_000)).meta({ title: 'API token' }),
  }),
  query: z.object({
    resource: z.enum(['issues', 'projects', 'users', 'boards']),
    operation: z.enum(['search', 'get', 'create', 'update']),
    jql: z.string().max(10_000).default(''),
    issueKey: id,
    projectKey: id,
    fields: fieldsOf,
    maxResults: limitOf(100),
    startAt: z.int().min(0).default(0),
  }),
  defaults: {
    options: { host: 'example.atlassian.net', email: 'name@example.com', apiToken: '' },
    query: { resource: 'projects', operation: 'search' },
  },
  preset: {
    baseUrl: 'https://{host}/rest',
    auth: { as: 'basic', username: 'email', password: 'apiToken' },
    bodyFormat: 'json',
    probe: '/api/3/myself',
    calls: {
      'issues.search': {
        method: 'GET',
        path: '/api/3/search/jql?fields=*all',
        params: { jql: 'jql', maxResults: 'maxResults' },
        needs: ['jql'],
        items: 'issues',
      },
      'issues.get': { method: 'GET', path: '/api/3/issue/{issueKey}' },
      'issues.create': { method: 'POST', path: '/api/3/issue', body: { fields: 'fields' }, needs: ['fields'] },
      'issues.update': {
        method: 'PUT',
        path: '/api/3/issue/{issueKey}',
        body: { fields: 'fields' },
        needs: ['fields'],
      },
      'projects.search': { method: 'GET', path: '/api/3/project/search', params: page, items: 'values' },
      'projects.get': { method: 'GET', path: '/api/3/project/{projectKey}' },
      'users.search': { method: 'GET', path: '/api/3/users/search', params: page },
      'boards.search': { method: 'GET', path: '/agile/1.0/board', params: page, items: 'values' },
    },
  },
});
