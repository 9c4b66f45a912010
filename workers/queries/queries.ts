import type { z } from 'zod';
import type { queryRuns } from '#shared/queues/query-runs.ts';

export interface QueryRequest extends z.output<typeof queryRuns.question> {
  signal: AbortSignal;
}

/** Runs data queries, for whoever asks and for nodes of workflows. Whether they may is not asked here. */
export interface Queries {
  run(request: QueryRequest): Promise<z.output<typeof queryRuns.answer>>;
}
