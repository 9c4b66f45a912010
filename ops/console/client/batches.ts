import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { every } from './every.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

export type Batch = Schemas['WorkflowBatch'];

export interface BatchIDs {
  tenantID: string;
  batchID: string;
}

const BATCHES = '/api/v1/tenants/{tenantID}/workflows/batches';
const BATCH = `${BATCHES}/{batchID}` as const;
const PAGE = 25;
const PROGRESS_MS = 1_000;
const LIST_MS = 5_000;

/** Whether something of a batch may still change. */
export function isUnderWay({ status }: Pick<Batch, 'status'>): boolean {
  return status === 'FILLING' || status === 'RUNNING';
}

export function batchesRead(tenantID: string, { cursor }: { cursor?: string }) {
  return queryOptions({
    queryKey: ['batches', tenantID, cursor ?? null],
    queryFn: () => {
      const params = { path: { tenantID }, query: { limit: PAGE, ...(cursor && { cursor }) } };
      return body(rest.GET(BATCHES, { params }));
    },
    placeholderData: keepPreviousData,
    refetchInterval: every((read) => (read?.batches.some(isUnderWay) ? LIST_MS : false)),
  });
}

export function batchRead(path: BatchIDs) {
  return queryOptions({
    queryKey: ['batch', path.tenantID, path.batchID],
    queryFn: async () => (await body(rest.GET(BATCH, { params: { path } }))).batch,
    refetchInterval: every((read) => (read && isUnderWay(read) ? PROGRESS_MS : false)),
  });
}

export async function stopBatch(path: BatchIDs): Promise<void> {
  await body<unknown>(rest.DELETE(`${BATCH}/stop` as const, { params: { path } }));
}
