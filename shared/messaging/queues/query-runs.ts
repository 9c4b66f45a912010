import { z } from 'zod';
import { Caller } from '../../core/caller.ts';
import { JsonObject, OwnJson } from '../../core/json.ts';
import { defineRPC } from './define-rpc.ts';

/** A query that is not stored; `datasourceID` is null where the type needs no datasource. */
export const GivenQuery = z.object({
  datasourceID: z.uuid().nullable(),
  datasourceType: z.string(),
  dataQueryOptions: JsonObject,
});

export const QueryAnswer = z.object({
  dataQueryResult: OwnJson,
  columns: z.array(z.object({ name: z.string(), type: z.string() })).optional(),
  rowCount: z.int().optional(),
  affectedRows: z.int().optional(),
  truncated: z.boolean().optional(),
  notices: z.array(z.string()).optional(),
  /** With `rowsPerPage`: rows of all pages, and the cursor of the next page. */
  totalCount: z.int().optional(),
  nextCursor: z.string().nullable().optional(),
  durationMs: z.number(),
  isCached: z.boolean(),
});

/** A query and its answer. Permissions have been checked by the API. */
export const queryRuns = defineRPC({
  name: 'query.runs',
  request: z.object({
    tenantID: z.uuid(),
    caller: Caller,
    query: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('stored'), dataQueryID: z.uuid() }),
      z.object({ kind: z.literal('given'), ...GivenQuery.shape }),
    ]),
    inputs: JsonObject,
    mode: z.enum(['run', 'explain']),
    /** Whether to bypass the cache. */
    isFresh: z.boolean(),
    /** Whether the client can read further pages of the result. */
    isPaged: z.boolean().default(false),
    /** The same for every attempt at the same work, for servers that accept a key. */
    idempotencyKey: z.string().nullable().default(null),
    /** Whether writes are refused. */
    isDryRun: z.boolean().default(false),
  }),
  response: QueryAnswer,
  timeoutMs: 65_000,
  maxConcurrent: { target: 8, tenant: 16 },
});
