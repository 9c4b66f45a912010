import { z } from 'zod';
import { secret } from '../../secret.ts';
import { definePreset, fieldsOf, id, limitOf } from './define-preset.ts';

const table = '/{tableName}';
const record = '/{tableName}/{recordId}';

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
    operation: z.enum(['list', 'find', 'create', 'update', 'delete']),
    tableName: z.string().min(1).max(255),
    recordId: id,
    fields: fieldsOf,
    filterByFormula: z.string().max(10_000).default(''),
    maxRecords: limitOf(100),
    sortField: id,
    sortDirection: z.enum(['asc', 'desc']).optional(),
    view: id,
  }),
  defaults: {
    options: { apiKey: '', baseId: 'appXXXXXXXXXXXXXX' },
    query: { operation: 'list', tableName: 'Table 1' },
  },
  preset: {
    baseUrl: 'https://api.airtable.com/v0/{baseId}',
    auth: { as: 'bearer', token: 'apiKey' },
    bodyFormat: 'json',
    probe: '',
    calls: {
      list: {
        method: 'GET',
        path: table,
        params: {
          maxRecords: 'maxRecords',
          filterByFormula: 'filterByFormula',
          view: 'view',
          'sort[0][field]': 'sortField',
          'sort[0][direction]': 'sortDirection',
        },
        items: 'records',
      },
      find: { method: 'GET', path: record },
      create: { method: 'POST', path: table, body: { fields: 'fields' } },
      update: { method: 'PATCH', path: record, body: { fields: 'fields' } },
      delete: { method: 'DELETE', path: record },
    },
  },
});
