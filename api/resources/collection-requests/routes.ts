import { z } from 'zod';
import { tenantRoute } from '../../context/routes.ts';
import { mayAnswerRequest } from '../../questions/approvers.ts';
import { findRequest } from '../../runs/find-run.ts';
import { readForm, submitForm, submitFormPage } from './answer-by-link.ts';
import { answerURLOf } from './answer-link.ts';
import { presentCollectionRequest } from './present.ts';
import { CollectionRequest, CollectionRequestID } from './schemas.ts';
import { submitCollection } from './submit.ts';

export const collectionRequestRoutes = [
  tenantRoute({
    name: 'getCollectionRequest',
    method: 'get',
    path: '/workflows/data-collection/:collectionRequestID',
    summary: 'Get a data collection request',
    description: 'Returns what a run asks a person for.',
    permission: 'workflow.read',
    filter: true,
    params: CollectionRequestID,
    response: z.object({ request: CollectionRequest }),

    async handle({ params, em, tenantID, identity, require }, { runs: { formLinks } }) {
      const requester = { em, require, permission: 'workflow.read' } as const;
      const { request, run } = await findRequest(requester, params.collectionRequestID);
      const workflowID = run.workflowID ?? null;
      const answerURL = answerURLOf(formLinks, request);
      const mayAnswer = answerURL !== null && (await mayAnswerRequest(request, { em, tenantID, identity, require }));
      return { request: presentCollectionRequest(request, { workflowID, answerURL: mayAnswer ? answerURL : null }) };
    },
  }),

  submitCollection,
  readForm,
  submitForm,
  submitFormPage,
];
