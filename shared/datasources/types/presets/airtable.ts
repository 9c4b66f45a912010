import { z } from 'zod';
import { JsonObject } from '../../../core/json.ts';
import { definePreset, fieldsOf, id, operation, type PresetPaging, text, token, wanted } from './define-preset.ts';

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
    apiKey: token('Personal access token', 'From the Developer Hub of Airtable; it begins with pat'),
    baseId: z
      .string()
      .regex(/^[A-Za-z0-9]{1,50}$/, 'must be the id of a base, such as appXXXXXXXXXXXXXX')
      .meta({ title: 'Base', description: 'Id of the base, from its URL: appXXXXXXXXXXXXXX' }),
  }),
  query: z.object({
    operation: operation(
      [
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
      ],
      'What is done: with one record, with several, with comments of a record; or `tables` of the base are listed',
    ),
    tableName: z.string().max(255).default('').meta({ title: 'Table', description: 'Name or id of the table' }),
    recordId: id('Record', 'Id of the record, such as recXXXXXXXXXXXXXX'),
    fields: fieldsOf(
      'Fields',
      'Values by the names of the fields, such as {"Name": "Ada"}; for `create`, `update` and `replace`',
    ),
    records: z.array(JsonObject).max(10).default([]).meta({
      title: 'Records',
      description: 'At most ten, such as {"id": "rec…", "fields": {"Name": "Ada"}}; for operations on several',
    }),
    recordIds: z
      .array(z.string().max(50))
      .max(10)
      .default([])
      .meta({ title: 'Ids of records', description: 'At most ten; for `deleteMany`' }),
    mergeOn: z.array(z.string().max(255)).max(3).default([]).meta({
      title: 'Merge by',
      description: 'Names of the fields by which `upsertMany` finds records that exist; at most three',
    }),
    typecast: z.boolean().default(false).meta({
      title: 'Convert texts',
      description: 'Airtable converts texts to the type of their field, such as a date',
    }),
    filterByFormula: z.string().max(10_000).default('').meta({
      title: 'Filter',
      description: 'Formula of Airtable that is true for the wanted records, such as {Status} = "open"',
    }),
    maxRecords: wanted,
    onlyFields: z
      .array(z.string().max(255))
      .max(50)
      .default([])
      .meta({ title: 'Only these fields', description: 'Names of the fields that are read. Empty: all' }),
    sortField: id('Sort by', 'Name of the field that the list is sorted by'),
    sortDirection: z
      .enum(['asc', 'desc'])
      .optional()
      .meta({ title: 'Direction', description: '`asc`: smallest first. `desc`: largest first' }),
    view: id('View', 'Name or id of a view, whose records are listed in its order'),
    comment: text('Comment', 'Text of the comment; for `createComment`'),
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
