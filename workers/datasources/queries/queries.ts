import type { z } from 'zod';
import type { Json } from '#shared/core/json.ts';
import type { queryRuns } from '#shared/messaging/queues/query-runs.ts';

/** Scope of a cached result. */
export interface Reuse {
  seconds: number;
  /** Part of the key: results of one scope are not used in another. */
  scope: Json;
}

export interface QueryRequest extends z.output<typeof queryRuns.request> {
  signal: AbortSignal;
  /** Caches the result for this scope, even if the query itself has no `cacheSeconds`. */
  reuse?: Reuse | undefined;
  /** Whether all attempts with the same `idempotencyKey` together may change something only once. */
  isOnce?: boolean;
}

/** Runs data queries, for requests and for nodes of workflows. The caller checks permissions before. */
export interface Queries {
  run(request: QueryRequest): Promise<z.output<typeof queryRuns.response>>;
}
