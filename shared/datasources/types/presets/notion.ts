import { z } from 'zod';
import { Json } from '../../../core/json.ts';
import { definePreset, fieldsOf, id, operation, type PresetPaging, resource, token, wanted } from './define-preset.ts';

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
  options: z.object({
    apiToken: token('Integration token', 'Secret of an integration that the pages are shared with'),
  }),
  query: z.object({
    resource: resource(['databases', 'dataSources', 'pages', 'blocks', 'comments', 'users', 'search']),
    operation: operation(['list', 'query', 'retrieve', 'create', 'update', 'append', 'delete']),
    databaseId: id('Database', 'Id of the database, from its URL'),
    dataSourceId: id('Data source', 'Id of a data source of a database, as `retrieve` tells it for the database'),
    pageId: id('Page or block', 'Id of the page or the block'),
    userId: id('User', 'Id of the user, as lists of users tell it'),
    filter: fieldsOf('Filter', 'Which items are wanted, in the form of the API of Notion'),
    sorts: z
      .array(Json)
      .max(20)
      .default([])
      .meta({ title: 'Sort by', description: 'Such as {"property": "Name", "direction": "ascending"}' }),
    searchQuery: z
      .string()
      .max(1_000)
      .default('')
      .meta({ title: 'Search', description: 'Words in the titles of pages and databases' }),
    page: fieldsOf(
      'Content',
      'What is created or changed, in the form of the API of Notion: `parent`, `properties`, `children`; for a comment `parent` and `rich_text`',
    ),
    children: z
      .array(Json)
      .max(100)
      .default([])
      .meta({ title: 'Blocks', description: 'Blocks that `append` adds, in the form of the API of Notion' }),
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
