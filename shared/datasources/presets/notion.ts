import { z } from 'zod';
import { Json } from '../../json.ts';
import { secret } from '../../secret.ts';
import { definePreset, fieldsOf, id, type PresetPaging, wanted } from './define-preset.ts';

/** Paging of a list: in the URL of a GET, in the body of a POST. */
function paging(cursorIn: 'query' | 'body'): PresetPaging {
  return {
    wanted: 'pageSize',
    size: 'page_size',
    maxPageSize: 100,
    by: {
      type: 'cursor',
      cursorIn,
      cursorParam: 'start_cursor',
      cursorPath: 'next_cursor',
      morePath: 'has_more',
    },
  };
}

export const notion = definePreset({
  type: 'notion',
  label: 'Notion',
  options: z.object({ apiToken: secret(z.string().max(500)).meta({ title: 'Integration token' }) }),
  query: z.object({
    resource: z.enum(['databases', 'dataSources', 'pages', 'blocks', 'comments', 'users', 'search']),
    operation: z.enum(['list', 'query', 'retrieve', 'create', 'update', 'append', 'delete']),
    databaseId: id,
    dataSourceId: id,
    pageId: id.meta({ description: 'Of a page; of a block, too' }),
    userId: id,
    filter: fieldsOf,
    sorts: z.array(Json).max(20).default([]),
    searchQuery: z.string().max(1_000).default(''),
    /** Fields to create or change, as in Notion's reference: parent, properties, children; for a comment parent and rich_text. */
    page: fieldsOf,
    children: z.array(Json).max(100).default([]),
    pageSize: wanted,
  }),
  defaults: { options: { apiToken: '' }, query: { resource: 'search', operation: 'query' } },
  preset: {
    baseUrl: 'https://api.notion.com/v1',
    auth: { as: 'bearer', token: 'apiToken' },
    headers: { 'notion-version': '2025-09-03' },
    bodyFormat: 'json',
    probe: '/users/me',
    calls: {
      'databases.retrieve': { method: 'GET', path: '/databases/{databaseId}' },
      // Version of the API before data sources; it works for databases that have only one.
      'databases.query': {
        method: 'POST',
        path: '/databases/{databaseId}/query',
        headers: { 'notion-version': '2022-06-28' },
        body: { filter: 'filter', sorts: 'sorts' },
        items: 'results',
        paging: paging('body'),
      },
      'dataSources.retrieve': { method: 'GET', path: '/data_sources/{dataSourceId}' },
      'dataSources.query': {
        method: 'POST',
        path: '/data_sources/{dataSourceId}/query',
        body: { filter: 'filter', sorts: 'sorts' },
        items: 'results',
        paging: paging('body'),
      },
      'pages.retrieve': { method: 'GET', path: '/pages/{pageId}' },
      'pages.create': { method: 'POST', path: '/pages', body: 'page', needs: ['page'] },
      'pages.update': { method: 'PATCH', path: '/pages/{pageId}', body: 'page', needs: ['page'] },
      'blocks.retrieve': { method: 'GET', path: '/blocks/{pageId}' },
      'blocks.list': { method: 'GET', path: '/blocks/{pageId}/children', items: 'results', paging: paging('query') },
      'blocks.append': {
        method: 'PATCH',
        path: '/blocks/{pageId}/children',
        body: { children: 'children' },
        needs: ['children'],
      },
      'blocks.update': { method: 'PATCH', path: '/blocks/{pageId}', body: 'page', needs: ['page'] },
      'blocks.delete': { method: 'DELETE', path: '/blocks/{pageId}' },
      'comments.list': {
        method: 'GET',
        path: '/comments',
        params: { block_id: 'pageId' },
        needs: ['pageId'],
        items: 'results',
        paging: paging('query'),
      },
      'comments.create': { method: 'POST', path: '/comments', body: 'page', needs: ['page'] },
      'users.list': { method: 'GET', path: '/users', items: 'results', paging: paging('query') },
      'users.retrieve': { method: 'GET', path: '/users/{userId}' },
      'search.query': {
        method: 'POST',
        path: '/search',
        body: { query: 'searchQuery', filter: 'filter' },
        items: 'results',
        paging: paging('body'),
      },
    },
  },
});
