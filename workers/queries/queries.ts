import type { z } from 'zod';
import type { queryRuns } from '#shared/queues/query-runs.ts';

export interface QueryRequest extends z.output<typeof queryRuns.question> {
  signal: AbortSignal;
  /** Whether attempts with the same `idempotencyKey` change something once at most, together. */
  isOnce?: boolean;
}

/** Runs data queries, for requests and for nodes of workflows. The caller checks permissions before. */
export interface Queries {
  run(request: QueryRequest): Promise<z.output<typeof queryRuns.answer>>;
}
