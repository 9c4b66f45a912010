import { readApproverNames } from '#shared/access/policy/approvers.ts';
import { AppError } from '#shared/core/errors.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { CollectionRequest } from '#shared/entities/tables/collection-request.ts';
import type { Identity } from '../auth/identity.ts';
import type { Access } from '../http/route/input.ts';

interface Answering {
  em: EntityManager;
  tenantID: string;
  identity: Identity;
}

/**
 * Rejects callers whom the request does not name as approvers, and who started the run of one that another must answer. API keys are no
 * approvers: a list of them names persons.
 */
export async function requireApprover(
  { collectionConfig }: CollectionRequest,
  { em, tenantID, identity }: Answering,
): Promise<void> {
  const { approvers, notBy } = collectionConfig;
  if (notBy === identity.userID)
    throw new AppError('PERMISSION_DENIED', 'You have started this run: another person must answer', {
      reason: 'permission',
    });
  if (approvers === undefined) return;
  const names = identity.apiKeyID ? [] : await readApproverNames(onEntities(em), tenantID, identity.userID);
  if (!Array.isArray(approvers) || !names.some((name) => approvers.includes(name)))
    throw new AppError('PERMISSION_DENIED', 'This request names other approvers', { reason: 'permission' });
}

/** Whether the caller may answer the request, for details that only such callers see. */
export async function mayAnswerRequest(
  request: CollectionRequest,
  { require, ...answering }: Answering & { require(access: readonly Access[]): Promise<void> },
): Promise<boolean> {
  try {
    await require([{ permission: 'workflow.execute', object: `workflow:${request.workflowID ?? '*'}` }]);
    await requireApprover(request, answering);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'PERMISSION_DENIED') return false;
    throw error;
  }
}
