import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { datasourceMetadata } from '#shared/messaging/queues/datasource-metadata.ts';
import { tenantDatabase } from '#shared/messaging/queues/tenant-database.ts';
import type { RPC } from '#shared/messaging/rpc.ts';

interface Reading {
  tenantID: string;
  signal: AbortSignal;
  producer: Pick<RPC, 'request'>;
}

/** A table by its path in the datasource, such as schema and name. */
export interface TableColumns {
  path: string[];
  columns: { name: string; type: string }[];
}

/** `isWhole`: there are no more tables. */
export interface Tables {
  tables: TableColumns[];
  isWhole: boolean;
}

/** Containers that are read at most: databases, schemas and tables. */
const MAX_REQUESTS = 60;
const MAX_DEPTH = 3;
const MAX_TABLES = 200;
/** Requests at once, as many as a datasource may have. */
const AT_ONCE = 4;

/**
 * Reads the tables of a datasource level by level, as the browser of a UI does. Names that the prompt mentions come
 * first.
 */
export async function readTables(reading: Reading, datasourceID: string, prompt = ''): Promise<Tables> {
  const tables: TableColumns[] = [];
  let unread: string[][] = [[]];
  let requestCount = 0;
  while (unread.length > 0 && requestCount < MAX_REQUESTS) {
    const batch = unread.splice(0, Math.min(AT_ONCE, MAX_REQUESTS - requestCount));
    requestCount += batch.length;
    const found = await Promise.all(batch.map((path) => read(reading, datasourceID, path)));
    for (const [index, items] of found.entries()) {
      const path = batch[index] ?? [];
      const columns = items.filter(({ isContainer }) => !isContainer);
      if (columns.length > 0) tables.push({ path, columns: columns.map(({ name, type = '' }) => ({ name, type })) });
      if (path.length < MAX_DEPTH)
        unread.push(...items.filter(({ isContainer }) => isContainer).map(({ name }) => [...path, name]));
    }
    unread = sorted(unread, prompt);
  }
  return { tables, isWhole: unread.length === 0 };
}

async function read({ tenantID, signal, producer }: Reading, datasourceID: string, path: string[]) {
  const limitKeys = { target: datasourceID, tenant: tenantID };
  try {
    return (await producer.request(datasourceMetadata, { tenantID, datasourceID, path }, { signal, limitKeys })).items;
  } catch (error) {
    // Types without tables cannot be browsed.
    if (error instanceof AppError && error.code === 'VALIDATION_ERROR') return [];
    throw error;
  }
}

function sorted(paths: string[][], prompt: string): string[][] {
  const words = prompt.toLowerCase();
  const isNamed = (path: string[]) => words.includes((path.at(-1) ?? '').toLowerCase().replace(/s$/, ''));
  return [...paths.filter(isNamed), ...paths.filter((path) => !isNamed(path))];
}

const Own = z.object({
  databaseMetadata: z.object({
    metadata: z.array(
      z.object({
        databaseSchemaName: z.string(),
        tables: z.array(
          z.object({
            databaseTableName: z.string(),
            databaseTableColumns: z.array(
              z.object({ databaseTableColumnName: z.string(), databaseTableColumnType: z.string() }),
            ),
          }),
        ),
      }),
    ),
  }),
});

/** The tables of the tenant's own database. */
export async function readOwnTables({ tenantID, signal, producer }: Reading): Promise<Tables> {
  const payload = { tenantID, operation: { kind: 'readMetadata' } } as const;
  const answer = await producer.request(tenantDatabase, payload, { signal, limitKeys: { tenant: tenantID } });
  const { metadata } = Own.parse(answer).databaseMetadata;
  const tables = metadata.flatMap(({ databaseSchemaName, tables: own }) =>
    own.map(({ databaseTableName, databaseTableColumns }) => ({
      path: [databaseSchemaName, databaseTableName],
      columns: databaseTableColumns.map((column) => ({
        name: column.databaseTableColumnName,
        type: column.databaseTableColumnType,
      })),
    })),
  );
  return { tables: tables.slice(0, MAX_TABLES), isWhole: tables.length <= MAX_TABLES };
}
