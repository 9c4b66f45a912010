import { z } from 'zod';
import { destination } from '../../../core/schema/secret.ts';
import {
  definePreset,
  fieldsOf,
  id,
  operation,
  type PresetCall,
  resource,
  text,
  token,
  wanted,
} from './define-preset.ts';

const issue = '/api/3/issue/{issueKey}';
const number = z
  .string()
  .regex(/^\d{0,20}$/, 'must be a number')
  .default('');

/** Maximum page size of all lists. A larger one would get a shorter page, which looks like the end of the list. */
const maxPageSize = 50;

function list(path: string, items: string): PresetCall {
  return {
    method: 'GET',
    path,
    params: { startAt: 'startAt' },
    items,
    paging: { wanted: 'maxResults', size: 'maxResults', maxPageSize, by: { type: 'offset', offsetParam: 'startAt' } },
  };
}

/** Jira Cloud. */
export const jira = definePreset({
  type: 'jira',
  label: 'Jira',
  options: z.object({
    host: destination(
      z
        .string()
        .regex(
          /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i,
          'must be a host name, such as example.atlassian.net',
        ),
    ).meta({ title: 'Host', description: 'Of Jira Cloud, such as example.atlassian.net' }),
    email: z.email().meta({ title: 'Email', description: 'Of the account that the API token belongs to' }),
    apiToken: token('API token', 'Of the account, from the security settings of Atlassian', 1_000),
  }),
  query: z.object({
    resource: resource(['issues', 'comments', 'transitions', 'projects', 'users', 'boards', 'sprints']),
    operation: operation(['search', 'get', 'create', 'update', 'delete', 'assign', 'issues']),
    jql: z
      .string()
      .max(10_000)
      .default('')
      .meta({ title: 'JQL', description: 'Search in the language of Jira, such as project = SHOP order by created' }),
    issueKey: id('Issue', 'Key or id of the issue, such as SHOP-17'),
    projectKey: id('Project', 'Key or id of the project, such as SHOP'),
    boardId: number.meta({ title: 'Board', description: 'Number of the board, from its URL' }),
    sprintId: number.meta({ title: 'Sprint', description: 'Number of the sprint, as lists of the board tell it' }),
    accountId: id('Account', 'Id of the user, as lists of users tell it'),
    transitionId: id('Transition', 'Id of the change of status, as the list of transitions of the issue tells it'),
    comment: text('Comment', 'Text of the comment'),
    fields: fieldsOf(
      'Fields',
      'Fields of the issue in the form of the API of Jira, such as {"summary": "Order 17 is late"}',
    ),
    maxResults: wanted,
    startAt: z.int().min(0).default(0).meta({
      title: 'Start at',
      description: 'How many items of the list are passed over; searches by JQL ignore it',
    }),
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
        params: { jql: 'jql' },
        needs: ['jql'],
        items: 'issues',
        paging: {
          wanted: 'maxResults',
          size: 'maxResults',
          maxPageSize: 100,
          by: { type: 'cursor', cursorParam: 'nextPageToken', cursorPath: 'nextPageToken' },
        },
      },
      'issues.get': { method: 'GET', path: issue },
      'issues.create': { method: 'POST', path: '/api/3/issue', body: { fields: 'fields' }, needs: ['fields'] },
      'issues.update': { method: 'PUT', path: issue, body: { fields: 'fields' }, needs: ['fields'] },
      'issues.delete': { method: 'DELETE', path: issue },
      'issues.assign': {
        method: 'PUT',
        path: `${issue}/assignee`,
        body: { accountId: 'accountId' },
        needs: ['accountId'],
      },
      'transitions.search': { method: 'GET', path: `${issue}/transitions`, items: 'transitions' },
      'transitions.create': {
        method: 'POST',
        path: `${issue}/transitions`,
        body: { transition: { id: 'transitionId' } },
        needs: ['transitionId'],
      },
      'comments.search': list(`${issue}/comment`, 'comments'),
      // Version 3 takes documents only; version 2 takes a text.
      'comments.create': {
        method: 'POST',
        path: '/api/2/issue/{issueKey}/comment',
        body: { body: 'comment' },
        needs: ['comment'],
      },
      'projects.search': list('/api/3/project/search', 'values'),
      'projects.get': { method: 'GET', path: '/api/3/project/{projectKey}' },
      'users.search': list('/api/3/users/search', ''),
      'users.get': { method: 'GET', path: '/api/3/user', params: { accountId: 'accountId' }, needs: ['accountId'] },
      'boards.search': list('/agile/1.0/board', 'values'),
      'boards.get': { method: 'GET', path: '/agile/1.0/board/{boardId}' },
      'boards.issues': list('/agile/1.0/board/{boardId}/issue', 'issues'),
      'sprints.search': list('/agile/1.0/board/{boardId}/sprint', 'values'),
      'sprints.get': { method: 'GET', path: '/agile/1.0/sprint/{sprintId}' },
      'sprints.issues': list('/agile/1.0/sprint/{sprintId}/issue', 'issues'),
    },
  },
});
