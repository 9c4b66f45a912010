import { z } from 'zod';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { requireOpen, takeAnswer } from '../../questions/accept-submission.ts';
import { requireApprover } from '../../questions/approvers.ts';
import { findRequest } from '../../runs/find-run.ts';
import { CollectionRequestID, Submission } from './schemas.ts';

export const submitCollection = tenantRoute({
  name: 'submitCollectionRequest',
  method: 'post',
  path: '/workflows/data-collection/:collectionRequestID/submit',
  summary: 'Answer a data collection request',
  description:
    'Approves or rejects, or sends the data that a run waits for. The first answer counts. A request that names approvers takes it from them only.',
  permission: 'workflow.execute',
  filter: true,
  params: CollectionRequestID,
  takesData: true,
  body: Submission,
  // No idempotency key is needed: the first submission to a request counts.
  idempotent: false,
  response: z.object({ collectionRequestID: z.uuid(), message: Message }),

  async handle({ params, body, identity, tenantID, em, require }, { runs }) {
    const requester = { em, require, permission: 'workflow.execute' } as const;
    const { request, run } = await findRequest(requester, params.collectionRequestID);
    requireOpen({ request, run });
    await requireApprover(request, { em, tenantID, identity });
    await takeAnswer({ em, runs }, request, { ...body, submittedBy: identity.userID });
    return { collectionRequestID: request.id, message: 'Answer received' };
  },
});
