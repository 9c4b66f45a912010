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

/** A line of each table, with its columns, and whether there are more. */
export interface Tables {
  lines: string[];
  isWhole: boolean;
}

/** Containers that are looked into: databases, schemas and tables. */
const MAX_LOOKS = 60;
const MAX_DEPTH = 3;
const MAX_TABLES = 200;
/** As many looks at once as a datasource may have. */
const AT_ONCE = 4;

/** The tables of a datasource, as the browser of a UI reads them. Names that the prompt mentions come first. */
export async function readTables(reading: Reading, datasourceID: string, prompt: string): Promise<Tables> {
  const lines: string[] = [];
  let left: string[][] = [[]];
  let looks = 0;
  while (left.length > 0 && looks < MAX_LOOKS) {
    const now = left.splice(0, Math.min(AT_ONCE, MAX_LOOKS - looks));
    looks += now.length;
    const found = await Promise.all(now.map((path) => read(reading, datasourceID, path)));
    for (const [index, items] of found.entries()) {
      const path = now[index] ?? [];
      const columns = items.filter(({ isContainer }) => !isContainer);
      if (columns.length > 0) lines.push(lineOf(path, columns));
      if (path.length < MAX_DEPTH)
        left.push(...items.filter(({ isContainer }) => isContainer).map(({ name }) => [...path, name]));
    }
    left = sorted(left, prompt);
  }
  return { lines, isWhole: left.length === 0 };
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

function lineOf(path: readonly string[], columns: readonly { name: string; type?: string | undefined }[]): string {
  return `${path.join('.')}(${columns.map(({ name, type = '' }) => `${name} ${type}`.trim()).join(', ')})`;
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
  const lines = metadata.flatMap(({ databaseSchemaName, tables }) =>
    tables.map(({ databaseTableName, databaseTableColumns }) =>
      lineOf(
        [databaseSchemaName, databaseTableName],
        databaseTableColumns.map((column) => ({
          name: column.databaseTableColumnName,
          type: column.databaseTableColumnType,
        })),
      ),
    ),
  );
  return { lines: lines.slice(0, MAX_TABLES), isWhole: lines.length <= MAX_TABLES };
}
