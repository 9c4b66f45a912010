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
  /** Keeps the result also when the query itself does not say so. */
  reuse?: Reuse | undefined;
  /** Whether attempts with the same `idempotencyKey` change something once at most, together. */
  isOnce?: boolean;
}

/** Runs data queries, for requests and for nodes of workflows. The caller checks permissions before. */
export interface Queries {
  run(request: QueryRequest): Promise<z.output<typeof queryRuns.response>>;
}
