import { z } from 'zod';
import { Json } from '../../json.ts';
import { secret } from '../../secret.ts';
import { definePreset, fieldsOf, id, type PresetPaging, text, wanted } from './define-preset.ts';

const paging: PresetPaging = {
  wanted: 'maxRecords',
  size: 'pageSize',
  maxPageSize: 100,
  by: { type: 'cursor', cursorParam: 'offset', cursorPath: 'offset' },
};

const table = '/{baseId}/{tableName}';
const record = '/{baseId}/{tableName}/{recordId}';
const write = { fields: 'fields', typecast: 'typecast' };
const writeMany = { records: 'records', typecast: 'typecast' };

export const airtable = definePreset({
  type: 'airtable',
  label: 'Airtable',
  options: z.object({
    apiKey: secret(z.string().max(500)).meta({ title: 'Personal access token' }),
    baseId: z
      .string()
      .regex(/^[A-Za-z0-9]{1,50}$/, 'must be the id of a base, such as appXXXXXXXXXXXXXX')
      .meta({ title: 'Base' }),
  }),
  query: z.object({
    operation: z.enum([
      'list',
      'find',
      'create',
      'update',
      'replace',
      'delete',
      'createMany',
      'updateMany',
      'upsertMany',
      'deleteMany',
      'tables',
      'createComment',
      'comments',
    ]),
    tableName: z.string().max(255).default(''),
    recordId: id,
    fields: fieldsOf,
    records: z.array(z.record(z.string(), Json)).max(10).default([]).meta({
      description: 'At most ten, such as { id, fields }',
    }),
    recordIds: z.array(z.string().max(50)).max(10).default([]),
    mergeOn: z.array(z.string().max(255)).max(3).default([]).meta({
      description: 'Fields by which a record is the same',
    }),
    typecast: z.boolean().default(false).meta({ description: 'Airtable makes texts what their field holds' }),
    filterByFormula: z.string().max(10_000).default(''),
    maxRecords: wanted,
    onlyFields: z.array(z.string().max(255)).max(50).default([]),
    sortField: id,
    sortDirection: z.enum(['asc', 'desc']).optional(),
    view: id,
    comment: text,
  }),
  defaults: {
    options: { apiKey: '', baseId: 'appXXXXXXXXXXXXXX' },
    query: { operation: 'list', tableName: 'Table 1' },
  },
  preset: {
    baseUrl: 'https://api.airtable.com/v0',
    auth: { as: 'bearer', token: 'apiKey' },
    bodyFormat: 'json',
    probe: '/meta/whoami',
    calls: {
      list: {
        method: 'GET',
        path: table,
        params: {
          filterByFormula: 'filterByFormula',
          view: 'view',
          fields: 'onlyFields',
          'sort[0][field]': 'sortField',
          'sort[0][direction]': 'sortDirection',
        },
        items: 'records',
        paging,
      },
      find: { method: 'GET', path: record },
      create: { method: 'POST', path: table, body: write, needs: ['fields'] },
      update: { method: 'PATCH', path: record, body: write, needs: ['fields'] },
      replace: { method: 'PUT', path: record, body: write, needs: ['fields'] },
      delete: { method: 'DELETE', path: record },
      createMany: { method: 'POST', path: table, body: writeMany, needs: ['records'] },
      updateMany: { method: 'PATCH', path: table, body: writeMany, needs: ['records'] },
      upsertMany: {
        method: 'PATCH',
        path: table,
        body: { ...writeMany, performUpsert: { fieldsToMergeOn: 'mergeOn' } },
        needs: ['records', 'mergeOn'],
      },
      deleteMany: { method: 'DELETE', path: table, params: { records: 'recordIds' }, needs: ['recordIds'] },
      tables: { method: 'GET', path: '/meta/bases/{baseId}/tables', items: 'tables' },
      comments: { method: 'GET', path: `${record}/comments`, items: 'comments', paging },
      createComment: { method: 'POST', path: `${record}/comments`, body: { text: 'comment' }, needs: ['comment'] },
    },
  },
});
