import { z } from 'zod';
import { tenantRoute } from '../../context/routes.ts';
import { mayAnswerRequest } from '../../questions/approvers.ts';
import { waitsForOf } from '../../questions/waits-for.ts';
import { findRequest } from '../../runs/find-run.ts';
import { readForm, submitForm, submitFormPage } from './answer-by-link.ts';
import { answerURLOf } from './answer-link.ts';
import { presentCollectionRequest } from './present.ts';
import { CollectionRequestID, ReadCollectionRequest } from './schemas.ts';
import { submitCollection } from './submit.ts';

export const collectionRequestRoutes = [
  tenantRoute({
    name: 'getCollectionRequest',
    method: 'get',
    path: '/workflows/data-collection/:collectionRequestID',
    summary: 'Get a data collection request',
    description: 'Returns what a run asks a person for, and whether the caller may answer.',
    permission: 'workflow.read',
    filter: true,
    params: CollectionRequestID,
    response: z.object({ request: ReadCollectionRequest }),

    async handle({ params, em, tenantID, identity, require }, { runs: { formLinks } }) {
      const requester = { em, require, permission: 'workflow.read' } as const;
      const { request, run } = await findRequest(requester, params.collectionRequestID);
      const workflowID = run.workflowID ?? null;
      const mayAnswer = await mayAnswerRequest(request, { em, tenantID, identity, require });
      const answerURL = mayAnswer ? answerURLOf(formLinks, request) : null;
      const waitsFor = mayAnswer ? [] : await waitsForOf(em, request);
      return { request: { ...presentCollectionRequest(request, { workflowID, answerURL }), mayAnswer, waitsFor } };
    },
  }),

  submitCollection,
  readForm,
  submitForm,
  submitFormPage,
];
