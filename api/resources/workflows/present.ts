import type { z } from 'zod';
import type { Workflow as WorkflowEntity } from '#shared/entities/tables/workflow.ts';
import type { WorkflowVersion as VersionEntity } from '#shared/entities/tables/workflow-version.ts';
import type { Workflow, WorkflowSummary } from './schemas.ts';
import type { Version, VersionSummary } from './versions/schemas.ts';

type Shown = Omit<WorkflowEntity, 'workflowOptions'>;

type Saved = Pick<VersionEntity, 'id' | 'number' | 'options'>;

/** Presents a workflow with the options of its latest version. */
export function presentSummary(workflow: Shown, latest: Saved): z.input<typeof WorkflowSummary> {
  const { id, tenantID, title, creatorID, isDisabled, isOfferedAsTool } = workflow;
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
    isOfferedAsTool,
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
