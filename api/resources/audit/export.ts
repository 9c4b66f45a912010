import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import {
  type AuditEntry,
  type AuditFilter,
  MAX_CHANGES,
  readChanges,
  readEntries,
} from '#shared/access/audit/read-records.ts';
import { yieldToEventLoop } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import { tenantRoute } from '../../context/routes.ts';
import { exportFormats } from '../../http/response/export-formats.ts';
import { presentEntry } from './present.ts';
import { ExportQuery } from './schemas.ts';

/** Entries that a statement reads: at most some megabytes. */
const BATCH = 500;
/** Entries that are written in one round of the event loop: about 1 ms, and a whole portion 11 to 20 ms. */
const SLICE = 50;

export const exportAuditLogs = tenantRoute({
  name: 'exportAuditLogs',
  method: 'get',
  path: '/audit/export',
  summary: 'Export the audit trail',
  description:
    'Returns all entries that fit, newest first, as CSV or as JSON lines. Texts that a spreadsheet would read as formulas are marked in the CSV.',
  permission: 'audit.list',
  query: ExportQuery,
  produces: 'text/csv',
  response: z.object({}),

  async handle({ query: { format, bom, ...filter }, tenantID, response, signal }, { pool }) {
    response.attachment(`audit.${format}`).set('x-content-type-options', 'nosniff');
    response.type(format === 'csv' ? 'text/csv' : 'application/jsonl');
    const batches = batchesOf(pool, tenantID, filter);
    const text =
      format === 'csv'
        ? exportFormats.csv.write(columns, asRows(batches), { keepsFormulas: false, bom })
        : asLines(batches);
    // The status has been sent: on an error the connection is cut, so that the client sees an incomplete file.
    await pipeline(text, response, { signal });
    return {};
  },
});

type Entry = ReturnType<typeof presentEntry>;

async function* batchesOf(pool: Pool, tenantID: string, filter: AuditFilter): AsyncGenerator<Entry[]> {
  let before: string | undefined;
  do {
    const { entries, next } = await readEntries(pool, { tenantID, filter, before }, { limit: BATCH });
    for (let from = 0; from < entries.length; from += SLICE) {
      await yieldToEventLoop();
      for await (const slice of withChanges(pool, entries.slice(from, from + SLICE)))
        yield slice.map((entry) => presentEntry(tenantID, entry));
    }
    before = next;
  } while (before !== undefined);
}

/** An entry with many changes is read and written by itself. */
async function* withChanges(pool: Pool, entries: readonly AuditEntry[]): AsyncGenerator<AuditEntry[]> {
  let few: AuditEntry[] = [];
  for (const entry of entries) {
    few.push(entry);
    if (entry.changeCount <= MAX_CHANGES) continue;
    yield few.slice(0, -1);
    yield [{ ...entry, changes: await readChanges(pool, entry.id) }];
    few = [];
  }
  yield few;
}

async function* asLines(batches: AsyncIterable<Entry[]>): AsyncGenerator<string> {
  for await (const entries of batches) yield entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

const columns = [
  'createdAt',
  'auditLogID',
  'type',
  'subType',
  'path',
  'status',
  'outcome',
  'userID',
  'apiKeyID',
  'apiKeyTitle',
  'assetType',
  'assetID',
  'ip',
  'userAgent',
  'durationMs',
  'changes',
  'metadata',
].map((name) => ({ name, type: 'text' }));

async function* asRows(batches: AsyncIterable<Entry[]>): AsyncGenerator<JsonObject[]> {
  for await (const entries of batches) yield entries.map(rowOf);
}

function rowOf({ asset, metadata, error, changes, ...entry }: Entry): JsonObject {
  const { request, response, apiKeyTitle, durationMs } = metadata as {
    request?: { ip?: string; headers?: JsonObject };
    response?: { statusCode?: number };
  } & JsonObject;
  return {
    ...entry,
    status: error?.status ?? response?.statusCode ?? null,
    apiKeyTitle: apiKeyTitle ?? null,
    assetType: asset?.type ?? null,
    assetID: asset?.id ?? null,
    ip: request?.ip ?? null,
    userAgent: request?.headers?.['user-agent'] ?? null,
    durationMs: durationMs ?? null,
    changes: changes.length > 0 ? JSON.stringify(changes) : null,
    metadata: JSON.stringify(metadata),
  };
}
