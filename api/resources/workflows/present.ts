import type { z } from 'zod';
import type { CollectionRequest as CollectionRequestEntity } from '#shared/entities/tables/collection-request.ts';
import type { Workflow as WorkflowEntity } from '#shared/entities/tables/workflow.ts';
import type { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import type { WorkflowVersion as VersionEntity } from '#shared/entities/tables/workflow-version.ts';
import type { InstanceSummary } from '../../runs/run-schemas.ts';
import type { CollectionRequest } from '../collection-requests/schemas.ts';
import type { Workflow, WorkflowSummary } from './schemas.ts';
import type { Version, VersionSummary } from './versions/schemas.ts';

type Shown = Omit<WorkflowEntity, 'workflowOptions'>;
type Saved = Pick<VersionEntity, 'id' | 'number' | 'options'>;

/** With the options of its latest version. */
export function presentSummary(workflow: Shown, latest: Saved): z.input<typeof WorkflowSummary> {
  const { id, tenantID, title, creatorID, isDisabled } = workflow;
  return {
    id,
    tenantID,
    title,
    workflowTitle: title,
    workflowDescription: workflow.workflowDescription ?? null,
    workflowOptions: latest.options,
    versionID: latest.id,
    versionNumber: latest.number ?? 0,
    publishedVersionID: workflow.versionID ?? null,
    folderID: workflow.folderID ?? null,
    creatorID,
    createdByApiKeyID: workflow.createdByApiKeyID ?? null,
    isDisabled,
    pausedAt: workflow.pausedAt?.toISOString() ?? null,
    createdAt: workflow.createdAt.toISOString(),
    updatedAt: workflow.updatedAt.toISOString(),
  };
}

export function presentWorkflow(
  workflow: Shown,
  latest: Saved & Pick<VersionEntity, 'nodes' | 'edges'>,
): z.input<typeof Workflow> {
  return { ...presentSummary(workflow, latest), workflowNodes: latest.nodes, workflowEdges: latest.edges };
}

type Listed = Pick<
  VersionEntity,
  | 'id'
  | 'tenantID'
  | 'number'
  | 'label'
  | 'publishedAt'
  | 'publishedBy'
  | 'creatorID'
  | 'createdByApiKeyID'
  | 'createdAt'
>;

export function presentVersionSummary(
  version: Listed,
  workflow: Pick<WorkflowEntity, 'id' | 'versionID'>,
): z.input<typeof VersionSummary> {
  return {
    versionID: version.id,
    workflowID: workflow.id,
    tenantID: version.tenantID,
    versionNumber: version.number ?? null,
    label: version.label ?? null,
    isPublished: version.id === workflow.versionID,
    publishedAt: version.publishedAt?.toISOString() ?? null,
    publishedBy: version.publishedBy ?? null,
    creatorID: version.creatorID ?? null,
    createdByApiKeyID: version.createdByApiKeyID ?? null,
    createdAt: version.createdAt.toISOString(),
  };
}

export function presentVersion(
  version: VersionEntity,
  workflow: Pick<WorkflowEntity, 'id' | 'versionID'>,
): z.input<typeof Version> {
  return {
    ...presentVersionSummary(version, workflow),
    workflowNodes: version.nodes,
    workflowEdges: version.edges,
    workflowOptions: version.options,
  };
}

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

/** What else is said of the runs of a list: the title of each workflow, the number of each version, by their ids. */
export interface Names {
  titles: ReadonlyMap<string, string>;
  numbers: ReadonlyMap<string, number>;
  /** By the ids of runs. */
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

export function presentCollectionRequest(
  request: CollectionRequestEntity,
  { workflowID, answerURL }: { workflowID: string | null; answerURL: string | null },
): z.input<typeof CollectionRequest> {
  const { id, instanceID, nodeID, iteration, status, collectionType, collectionConfig } = request;
  return {
    collectionRequestID: id,
    instanceID,
    workflowID,
    nodeID,
    iteration,
    frame: request.frame ?? [],
    status,
    collectionType,
    collectionConfig,
    submittedData: request.submittedData ?? null,
    submittedBy: request.submittedBy ?? null,
    expiresAt: request.expiresAt?.toISOString() ?? null,
    answerURL,
    createdAt: request.createdAt.toISOString(),
    updatedAt: request.updatedAt.toISOString(),
  };
}
