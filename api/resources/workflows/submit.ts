import { raw } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { CollectionRequest } from '#shared/db/entities/collection-request.ts';
import type { EntityManager } from '#shared/db/orm.ts';
import { onEntities } from '#shared/db/query.ts';
import { AppError } from '#shared/errors.ts';
import { readApproverNames } from '#shared/policy/approvers.ts';
import { isTerminal } from '#shared/workflow/status.ts';
import type { Identity } from '../../auth/identity.ts';
import { Message } from '../../http/answer-parts.ts';
import { tenantRoute } from '../../http/route.ts';
import { checkSubmission } from './check-submission.ts';
import { findRequest } from './find-run.ts';
import { CollectionRequestID, Submission } from './request-schemas.ts';

export const submitCollection = tenantRoute({
  name: 'submitCollectionRequest',
  method: 'post',
  path: '/workflows/data-collection/:collectionRequestID/submit',
  summary: 'Answer a data collection request',
  description:
    'Sends the data a run waits for. The first answer counts. A request that names approvers takes it from them only.',
  permission: 'workflow.execute',
  filter: true,
  params: CollectionRequestID,
  body: Submission,
  // No idempotency key is needed: the first submission to a request counts.
  idempotent: false,
  response: z.object({ collectionRequestID: z.uuid(), message: Message }),

  async handle({ params, body, identity, tenantID, em, require }, { runs }) {
    const asking = { em, require, permission: 'workflow.execute' } as const;
    const { request, run } = await findRequest(asking, params.collectionRequestID);
    if (request.status !== 'PENDING' || isTerminal(run.status)) throw closed(request.status);

    await requireApprover(request, { em, tenantID, identity });
    const submittedData = checkSubmission(request.collectionConfig, body.submittedData);
    // By the database's clock; the state of the row decides between two submissions.
    const inTime = { $or: [{ expiresAt: null }, { expiresAt: { $gt: raw<Date>('now()') } }] };
    const won = await em.nativeUpdate(
      CollectionRequest,
      { id: request.id, status: 'PENDING', ...inTime },
      { status: 'COMPLETED', submittedData, submittedBy: identity.userID, updatedAt: new Date() },
    );
    if (won === 0) throw closed('EXPIRED');

    // Committed above: if this wake is lost, the sweep finds the submission.
    await runs.wake([request.instanceID]);
    return { collectionRequestID: request.id, message: 'Answer received' };
  },
});

/** An API key acts for its creator, and is not the person whom a list of approvers names. */
async function requireApprover(
  { collectionConfig }: CollectionRequest,
  { em, tenantID, identity }: { em: EntityManager; tenantID: string; identity: Identity },
): Promise<void> {
  const { approvers } = collectionConfig;
  if (approvers === undefined) return;
  const names = identity.apiKeyID ? [] : await readApproverNames(onEntities(em), tenantID, identity.userID);
  if (!Array.isArray(approvers) || !names.some((name) => approvers.includes(name)))
    throw new AppError('PERMISSION_DENIED', 'This request names other approvers', { reason: 'permission' });
}

function closed(status: string): AppError {
  const why = status === 'COMPLETED' ? 'has been answered already' : 'is no longer open';
  return new AppError('CONFLICT', `This request ${why}`);
}
