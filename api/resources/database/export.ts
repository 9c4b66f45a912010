import { z } from 'zod';
import { tenantRoute } from '../../http/route.ts';
import { askDatabase } from './database-route.ts';
import { RowsExport, TableName } from './schemas.ts';

const File = z.object({ content: z.string() });
const types = { json: 'application/json', csv: 'text/csv' } as const;

export const exportRows = tenantRoute({
  method: 'patch',
  path: '/database/schemas/:databaseSchemaName/tables/:databaseTableName/rows/export',
  summary: 'The rows that a filter finds as a file: csv or json',
  permission: 'database.rowList',
  params: TableName,
  body: RowsExport,
  produces: 'text/csv',
  response: z.object({}),
  errors: ['404', '409'],

  async handle({ params, body, sendFile, ...input }, context) {
    const name = { schema: params.databaseSchemaName, table: params.databaseTableName };
    const answer = await askDatabase(input, context, { kind: 'exportRows', ...name, ...body });
    const { content } = File.parse(answer);
    sendFile({ type: types[body.format], fileName: `export.${body.format}`, content });
    return {};
  },
});
