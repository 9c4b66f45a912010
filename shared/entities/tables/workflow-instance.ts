import type { Caller } from '../../core/caller.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { RunError } from '../../workflow/run-error.ts';
import type { TestMode } from '../../workflow/test-mode.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** A run. Written by `shared/runs/runs.ts` and the engine in SQL; handlers only read it here. */
export const WorkflowInstanceSchema = defineEntity({
  name: 'WorkflowInstance',
  tableName: 'workflow_instance',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    workflowID: p.uuid().nullable(),
    versionID: p.uuid(),
    status: p.string().$type<'PENDING' | 'RUNNING' | 'WAITING' | 'COMPLETED' | 'FAILED' | 'CANCELLED'>(),
    isTest: p.boolean(),
    testMode: p.json().$type<TestMode>().nullable(),
    class: p.string(),
    heldBy: p.uuid().nullable(),
    readyAt: p.datetime().nullable(),
    /** The time since which the run would be READY if a pause did not withhold it from the queue; null: it is not withheld. */
    keptSince: p.datetime().nullable(),
    wakeAt: p.datetime().nullable(),
    /** The time at which the run may begin, if that is later than its acceptance. */
    startAt: p.datetime().nullable(),
    batchID: p.uuid().nullable(),
    rerunOf: p.uuid().nullable(),
    seq: p.bigint('number'),
    deadlineAt: p.datetime(),
    parentID: p.uuid().nullable(),
    parentNodeID: p.text().nullable(),
    /** The map of which the run is a chunk. */
    mapID: p.uuid().nullable(),
    createdAt: p.datetime(),
    startedAt: p.datetime().nullable(),
    completedAt: p.datetime().nullable(),
    updatedAt: p.datetime(),
    caller: p.json().$type<Caller>(),
    input: p.json().$type<JsonObject>(),
    output: p.json().$type<Json>().nullable(),
    error: p.json().$type<RunError>().nullable(),
  },
});

export class WorkflowInstance extends WorkflowInstanceSchema.class {}
WorkflowInstanceSchema.setClass(WorkflowInstance);
