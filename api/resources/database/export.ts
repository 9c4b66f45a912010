import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { forgetResult, type ResultOwner, readResultPage } from '#shared/datasources/result-pages.ts';
import { DATABASE_EXPORT, DatabaseExport } from '#shared/messaging/queues/tenant-database.ts';
import type { ApiContext } from '../../context/context.ts';
import { tenantRoute } from '../../context/routes.ts';
import { type Batches, exportFormats } from '../../http/response/export-formats.ts';
import { askDatabase } from './database-route.ts';
import { ExportQuery, exportAliases, RowsExport, TableName } from './schemas.ts';

export const exportRows = tenantRoute({
  name: 'exportRows',
  method: 'patch',
  path: '/database/schemas/:databaseSchemaName/tables/:databaseTableName/rows/export',
  summary: 'Export rows',
  description: 'Returns the rows that a filter finds as a file: CSV, JSON or Excel.',
  permission: 'database.rowList',
  params: TableName,
  query: ExportQuery,
  takesData: true,
  body: RowsExport,
  aliases: exportAliases,
  produces: 'text/csv',
  response: z.object({}),
  errors: ['404', '409', '502', '504'],

  async handle({ params, query, body: { format, ...body }, caller, response, tenantID, signal }, context) {
    const name = { schema: params.databaseSchemaName, table: params.databaseTableName };
    const operation = { kind: 'exportRows', ...name, ...body, callerID: caller.id } as const;
    const found = DatabaseExport.parse(await askDatabase({ tenantID, signal }, context, operation));
    const { type, maxRows, write } = exportFormats[format];
    try {
      if (found.totalCount > maxRows)
        throw new AppError(
          'PAYLOAD_TOO_LARGE',
          `exportFormat: ${format} holds ${maxRows} rows, and these are ${found.totalCount}`,
        );
      response.attachment(`export.${format}`).type(type).set('x-content-type-options', 'nosniff');
      const owner = { tenantID, source: DATABASE_EXPORT, callerID: caller.id };
      // The status has been sent: on an error the connection is cut, so that the client sees an incomplete file.
      const options = { keepsFormulas: query.formulas === 'keep', bom: query.bom };
      await pipeline(write(found.columns, batchesOf(context, owner, found), options), response, { signal });
    } finally {
      await forgetResult(context.pool, found.resultID);
    }
    return {};
  },
});

async function* batchesOf(
  context: Pick<ApiContext, 'pool' | 'secrets'>,
  owner: ResultOwner,
  { rows, resultID, pages }: DatabaseExport,
): Batches {
  yield rows;
  for (let page = 2; page <= pages; page += 1)
    yield (await readResultPage(context, owner, { resultID, page })) as JsonObject[];
}
