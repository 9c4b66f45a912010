import type { z } from 'zod';
import type { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import type { InstanceSummary } from './schemas.ts';
import { presentStarter } from './start-of-run.ts';

type Summarized = Pick<
  WorkflowInstance,
  | 'id'
  | 'versionID'
  | 'caller'
  | 'error'
  | 'startAt'
  | 'workflowID'
  | 'status'
  | 'isTest'
  | 'batchID'
  | 'rerunOf'
  | 'parentID'
  | 'parentNodeID'
  | 'mapID'
  | 'createdAt'
  | 'startedAt'
  | 'completedAt'
>;

/** Names beside the runs of a list: the title of each workflow, the number of each version, by their ids. */
export interface Names {
  titles: ReadonlyMap<string, string>;
  numbers: ReadonlyMap<string, number>;
  /** Tags by the ids of runs. */
  tags: ReadonlyMap<string, string[]>;
}

export function presentInstanceSummary(
  run: Summarized,
  { titles, numbers, tags }: Names,
): z.input<typeof InstanceSummary> {
  return {
    instanceID: run.id,
    workflowID: run.workflowID ?? null,
    workflowTitle: titles.get(run.workflowID ?? '') ?? null,
    versionID: run.versionID,
    versionNumber: numbers.get(run.versionID) ?? null,
    status: run.status,
    isTest: run.isTest,
    origin: run.caller.origin,
    startedBy: presentStarter(run),
    tags: tags.get(run.id) ?? [],
    errorCode: run.error?.code ?? null,
    startAt: run.startAt?.toISOString() ?? null,
    batchID: run.batchID ?? null,
    rerunOf: run.rerunOf ?? null,
    parentInstanceID: run.parentID ?? null,
    parentNodeID: run.parentNodeID ?? null,
    mapID: run.mapID ?? null,
    createdAt: run.createdAt.toISOString(),
    startedAt: run.startedAt?.toISOString() ?? null,
    completedAt: run.completedAt?.toISOString() ?? null,
  };
}
