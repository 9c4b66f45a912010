import { z } from 'zod';
import { secret } from '../../secret.ts';
import { definePreset, fieldsOf, id, limitOf } from './define-preset.ts';

export const notion = definePreset({
  type: 'notion',
  label: 'Notion',
  options: z.object({ apiToken: secret(z.string().max(500)).meta({ title: 'Integration token' }) }),
  query: z.object({
    resource: z.enum(['databases', 'pages', 'blocks', 'users', 'search']),
    operation: z.enum(['list', 'query', 'retrieve', 'create', 'update']),
    databaseId: id,
    pageId: id,
    filter: fieldsOf,
    sorts: z.array(z.json()).max(20).default([]),
    searchQuery: z.string().max(1_000).default(''),
    /** The page to be made or changed, as Notion describes it: parent, properties, children. */
    page: fieldsOf,
    pageSize: limitOf(100),
  }),
  defaults: { options: { apiToken: '' }, query: { resource: 'search', operation: 'query' } },
  preset: {
    baseUrl: 'https://api.notion.com/v1',
    auth: { as: 'bearer', token: 'apiToken' },
    headers: { 'notion-version': '2022-06-28' },
    bodyFormat: 'json',
    probe: '/users/me',
    calls: {
      'databases.retrieve': { method: 'GET', path: '/databases/{databaseId}' },
      'databases.query': {
        method: 'POST',
        path: '/databases/{databaseId}/query',
        body: { filter: 'filter', sorts: 'sorts', page_size: 'pageSize' },
        items: 'results',
      },
      'pages.retrieve': { method: 'GET', path: '/pages/{pageId}' },
      'pages.create': { method: 'POST', path: '/pages', body: 'page', needs: ['page'] },
      'pages.update': { method: 'PATCH', path: '/pages/{pageId}', body: 'page', needs: ['page'] },
      'blocks.list': {
        method: 'GET',
        path: '/blocks/{pageId}/children',
        params: { page_size: 'pageSize' },
        items: 'results',
      },
      'users.list': { method: 'GET', path: '/users', params: { page_size: 'pageSize' }, items: 'results' },
      'search.query': {
        method: 'POST',
        path: '/search',
        body: { query: 'searchQuery', filter: 'filter', page_size: 'pageSize' },
        items: 'results',
      },
    },
  },
});
