import type { Caller } from '../../caller.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** Runs that were started together. Written in SQL by `shared/run-batches.ts`; handlers only read it here. */
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
    /** Runs that were accepted, and items that were refused. */
    total: p.integer(),
    refused: p.integer(),
    cancelledAt: p.datetime().nullable(),
    cancelledBy: p.uuid().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

export class RunBatch extends RunBatchSchema.class {}
RunBatchSchema.setClass(RunBatch);
