import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { ListFilter } from './list-filter.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const WORKFLOW = '/api/v1/tenants/{tenantID}/workflows/{workflowID}';
const PAGE = 50;

export interface WorkflowIDs {
  tenantID: string;
  workflowID: string;
}

export function workflowListRead(tenantID: string, filter: ListFilter) {
  return queryOptions({
    queryKey: ['workflows', tenantID, filter],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { ...filter, fields: 'summary', limit: PAGE } } as const;
      const { workflows, nextCursor } = await body(rest.GET('/api/v1/tenants/{tenantID}/workflows', { params }));
      return { rows: workflows, nextCursor };
    },
    placeholderData: keepPreviousData,
  });
}

export function workflowRead(path: WorkflowIDs) {
  return queryOptions({
    queryKey: ['workflow', path],
    queryFn: async () => (await body(rest.GET(WORKFLOW, { params: { path } }))).workflow,
    // An editor goes on from what it has read.
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

export function kindsRead(tenantID: string) {
  return queryOptions({
    queryKey: ['kinds', tenantID],
    queryFn: async () => {
      const params = { path: { tenantID } };
      return (await body(rest.GET('/api/v1/tenants/{tenantID}/workflows/schemas', { params }))).schemas;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export async function createWorkflow(tenantID: string, title: string): Promise<Schemas['Workflow']> {
  const start = { id: 'start', type: 'start', data: { title: 'Start' } };
  const end = { id: 'end', type: 'end', data: { title: 'End', status: 'success', outputParameters: [] } };
  const edge = { id: 'edge-1', source: 'start', target: 'end' };
  const given = { title, workflowNodes: [start, end], workflowEdges: [edge], draft: true };
  const params = { path: { tenantID } };
  return (await body(rest.POST('/api/v1/tenants/{tenantID}/workflows', { params, body: given }))).workflow;
}

export async function cloneWorkflow(path: WorkflowIDs): Promise<Schemas['Workflow']> {
  return (await body(rest.POST(`${WORKFLOW}/clone`, { params: { path } }))).workflow;
}

/** The workflows that call this one, and what starts it. Not a part of what changes of workflows refresh: a deleted one has no usage. */
export function workflowUsageRead(path: WorkflowIDs) {
  return queryOptions({
    queryKey: ['workflow-usage', path.tenantID, path.workflowID],
    queryFn: () => body(rest.GET(`${WORKFLOW}/usage`, { params: { path } })),
  });
}

/** Deletes a workflow, also one that something starts: the person was told before. */
export async function deleteWorkflow(path: WorkflowIDs): Promise<void> {
  await body(rest.DELETE(WORKFLOW, { params: { path, query: { force: 'true' } } }));
}

/** Saves unless another author has saved since `versionNumber`. */
export async function saveWorkflow(
  path: WorkflowIDs,
  change: Schemas['WorkflowUpdate'],
  versionNumber: number,
): Promise<Schemas['Workflow']> {
  const params = { path, header: { 'If-Match': `"${versionNumber}"` } };
  return (await body(rest.PATCH(WORKFLOW, { params, body: change }))).workflow;
}

/** Changes what all versions share, of which no version is made. */
export async function changeWorkflow(
  path: WorkflowIDs,
  change: Pick<Schemas['WorkflowUpdate'], 'workflowDescription' | 'isDisabled' | 'isOfferedAsTool'>,
): Promise<Schemas['Workflow']> {
  return (await body(rest.PATCH(WORKFLOW, { params: { path }, body: change as Schemas['WorkflowUpdate'] }))).workflow;
}

/** Since when the workflow is paused then; null: it is not. */
export async function setWorkflowPause(path: WorkflowIDs, change: 'pause' | 'resume'): Promise<string | null> {
  return (await body(rest.POST(`${WORKFLOW}/${change}`, { params: { path } }))).pausedAt;
}

export async function testWorkflow(tenantID: string, test: Schemas['WorkflowTest']): Promise<string> {
  const params = { path: { tenantID } };
  return (await body(rest.POST('/api/v1/tenants/{tenantID}/workflows/test', { params, body: test }))).instanceID;
}

export function workflowRetentionRead(path: WorkflowIDs) {
  return queryOptions({
    queryKey: ['workflow-retention', path],
    queryFn: async () => (await body(rest.GET(`${WORKFLOW}/retention`, { params: { path } }))).retention,
  });
}

export async function saveWorkflowRetention(
  path: WorkflowIDs,
  change: Schemas['RunRetentionUpdate'],
): Promise<Schemas['RunRetention']> {
  return (await body(rest.PATCH(`${WORKFLOW}/retention`, { params: { path }, body: change }))).retention;
}

/** Newest first. */
export function versionsRead(path: WorkflowIDs) {
  return infiniteQueryOptions({
    queryKey: ['versions', path],
    queryFn: ({ pageParam: cursor }) => {
      const query = { limit: PAGE, ...(cursor && { cursor }) };
      return body(rest.GET(`${WORKFLOW}/versions`, { params: { path, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    staleTime: 0,
  });
}

export function versionDiffRead(path: WorkflowIDs & { versionID: string }) {
  return queryOptions({
    queryKey: ['version-diff', path],
    queryFn: async () => (await body(rest.GET(`${WORKFLOW}/versions/{versionID}/diff`, { params: { path } }))).diff,
  });
}

export async function restoreVersion(path: WorkflowIDs & { versionID: string }): Promise<void> {
  await body(rest.POST(`${WORKFLOW}/versions/{versionID}/restore`, { params: { path }, body: { draft: true } }));
}

export async function publishVersion(path: WorkflowIDs & { versionID: string }): Promise<void> {
  await body(rest.POST(`${WORKFLOW}/versions/{versionID}/publish`, { params: { path } }));
}
