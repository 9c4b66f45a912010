import type { Caller } from '../../core/caller.ts';
import type { BatchJob } from '../../runs/batches/job.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** Runs that were started together. Written in SQL by `shared/runs/batches/cancel.ts`; handlers only read it here. */
export const RunBatchSchema = defineEntity({
  name: 'RunBatch',
  tableName: 'run_batch',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    /** Null if its runs may be of several workflows. */
    workflowID: p.uuid().nullable(),
    kind: p.string().$type<'execute' | 'rerun' | 'cancel'>(),
    label: p.string().nullable(),
    creatorID: p.uuid(),
    createdByApiKeyID: p.uuid().nullable(),
    caller: p.json().$type<Caller>(),
    /** `total`: runs that the batch has accepted or cancelled. `refused`: items or runs that were refused. */
    total: p.integer().default(0),
    refused: p.integer().default(0),
    /** The job with which a worker fills the batch; null if its request has named every run. */
    asked: p.json().$type<BatchJob>().nullable(),
    /** Runs that the filter has found so far. */
    lookedAt: p.integer().default(0),
    filledAt: p.datetime().nullable(),
    lastError: p.text().nullable(),
    cancelledAt: p.datetime().nullable(),
    cancelledBy: p.uuid().nullable(),
    /** The clock of the database gives the time, as it does for runs. */
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  },
});

export class RunBatch extends RunBatchSchema.class {}
RunBatchSchema.setClass(RunBatch);
