import type { z } from 'zod';
import type { CollectionRequest as CollectionRequestEntity } from '#shared/db/entities/collection-request.ts';
import type { Workflow as WorkflowEntity } from '#shared/db/entities/workflow.ts';
import type { WorkflowInstance } from '#shared/db/entities/workflow-instance.ts';
import type { CollectionRequest, InstanceSummary, Workflow, WorkflowSummary } from './schemas.ts';

type Shown = Omit<WorkflowEntity, 'versionID'>;

export function presentSummary(workflow: Shown): z.input<typeof WorkflowSummary> {
  const { id, tenantID, title, workflowOptions, creatorID, isDisabled } = workflow;
  return {
    id,
    tenantID,
    title,
    workflowTitle: title,
    workflowDescription: workflow.workflowDescription ?? null,
    workflowOptions,
    folderID: workflow.folderID ?? null,
    creatorID,
    createdByApiKeyID: workflow.createdByApiKeyID ?? null,
    isDisabled,
    createdAt: workflow.createdAt.toISOString(),
    updatedAt: workflow.updatedAt.toISOString(),
  };
}

export function presentWorkflow(
  workflow: Shown,
  graph: { nodes: Record<string, unknown>[]; edges: Record<string, unknown>[] },
): z.input<typeof Workflow> {
  return { ...presentSummary(workflow), workflowNodes: graph.nodes, workflowEdges: graph.edges };
}

type Summarized = Pick<
  WorkflowInstance,
  'id' | 'workflowID' | 'status' | 'isTest' | 'parentID' | 'parentNodeID' | 'createdAt' | 'startedAt' | 'completedAt'
>;

export function presentInstanceSummary(run: Summarized, title: string | null): z.input<typeof InstanceSummary> {
  return {
    instanceID: run.id,
    workflowID: run.workflowID ?? null,
    workflowTitle: title,
    status: run.status,
    isTest: run.isTest,
    parentInstanceID: run.parentID ?? null,
    parentNodeID: run.parentNodeID ?? null,
    createdAt: run.createdAt.toISOString(),
    startedAt: run.startedAt?.toISOString() ?? null,
    completedAt: run.completedAt?.toISOString() ?? null,
  };
}

export function presentCollectionRequest(
  request: CollectionRequestEntity,
  workflowID: string | null,
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
    createdAt: request.createdAt.toISOString(),
    updatedAt: request.updatedAt.toISOString(),
  };
}
