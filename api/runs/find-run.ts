import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { CollectionRequest } from '#shared/entities/tables/collection-request.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import type { Access } from '../http/route/input.ts';

interface Requester {
  em: EntityManager;
  require(access: readonly Access[]): Promise<void>;
  permission: 'workflow.read' | 'workflow.execute';
}

/**
 * Finds a run and checks the permission on its workflow. For a run without a workflow (a test of an unsaved graph) and
 * for an unknown id, the permission is checked on all workflows, so that only callers who may see any run learn that
 * there is none.
 */
export async function findRun({ em, require, permission }: Requester, instanceID: string): Promise<WorkflowInstance> {
  const run = await em.findOne(WorkflowInstance, { id: instanceID });
  await require([{ permission, object: `workflow:${run?.workflowID ?? '*'}` }]);
  if (!run) throw new AppError('NOT_FOUND', 'Run not found');
  return run;
}

/**
 * A run of a workflow that the caller may read, or a run that the caller has started and may still execute. The input
 * and output may have megabytes: `without` names those that the caller does not need.
 */
export async function findReadableRun<Left extends 'input' | 'output' = never>(
  { em, require, caller }: Pick<Requester, 'em' | 'require'> & { caller: Caller },
  instanceID: string,
  { without = [] }: { without?: readonly Left[] } = {},
): Promise<Omit<WorkflowInstance, Left>> {
  // The type of the result says which fields are left out.
  const exclude = [...without] as never[];
  const run: WorkflowInstance | null = await em.findOne(WorkflowInstance, { id: instanceID }, { exclude });
  const isOwn = run?.caller.type === caller.type && run.caller.id === caller.id;
  const object = `workflow:${run?.workflowID ?? '*'}`;
  try {
    await require([{ permission: 'workflow.read', object }]);
  } catch (error) {
    if (!isOwn || !(error instanceof AppError && error.code === 'PERMISSION_DENIED')) throw error;
    await require([{ permission: 'workflow.execute', object }]);
  }
  if (!run) throw new AppError('NOT_FOUND', 'Run not found');
  return run;
}

/** Both values of a run, for `without`. */
export const VALUES = ['input', 'output'] as const;

/** Finds a data collection request and its run, and checks the permission as `findRun` does. */
export async function findRequest(
  { em, require, permission }: Requester,
  requestID: string,
): Promise<{ request: CollectionRequest; run: Owner }> {
  const request = await em.findOne(CollectionRequest, { id: requestID });
  const run: Owner | null =
    request && (await em.findOne(WorkflowInstance, { id: request.instanceID }, { fields: ['workflowID', 'status'] }));
  await require([{ permission, object: `workflow:${run?.workflowID ?? '*'}` }]);
  if (!request || !run) throw new AppError('NOT_FOUND', 'Request not found');
  return { request, run };
}

type Owner = Pick<WorkflowInstance, 'workflowID' | 'status'>;
