import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { JsonObject } from '#shared/core/json.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { CollectionRequest } from '#shared/entities/tables/collection-request.ts';
import { User } from '#shared/entities/tables/user.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { requireOpen, takeAnswer } from '../../questions/accept-submission.ts';
import { ShownForm } from '../../questions/shown-form.ts';
import { waitsForOf } from '../../questions/waits-for.ts';
import { openQuestion } from './open-question.ts';
import { PageQuestion, PageQuestionID } from './question-schemas.ts';

const path = '/app-pages/:appPageID/questions/:appPageQuestionID';

export const readPageQuestion = tenantRoute({
  name: 'getAppPageQuestion',
  method: 'get',
  path,
  summary: 'Get a question of an app page',
  description:
    'Returns a question of a run that this page has started, as far as the caller needs it to answer. The caller needs the permission to read the page, and must be one whom the question is for: named as an approver, or, where it is a form without approvers, who has started the run. Who has started the run and may not answer gets its title, and who may.',
  permission: 'appPage.read',
  object: ({ params }) => `appPage:${params.appPageID}`,
  params: PageQuestionID,
  response: z.object({ question: PageQuestion, message: Message }),
  errors: ['409'],

  async handle({ params, em, tenantID, caller, identity }, context) {
    const opened = await openQuestion({ em, tenantID, caller, identity }, context, params);
    const { request, workflowAlias, isOwnRun, mayAnswer } = opened;
    const form = ShownForm.parse(request.collectionConfig);
    const title = form.title;
    const collectionConfig = mayAnswer ? form : { collectionType: form.collectionType, title };
    const { id, instanceID, status, collectionType, expiresAt, createdAt } = request;
    return {
      question: {
        ...{ collectionRequestID: id, instanceID, workflowAlias, isOwnRun, status, collectionType, collectionConfig },
        answeredBy: await readAnswerer(em, request),
        isOwnAnswer: request.submittedBy === identity.userID,
        title: title ?? null,
        mayAnswer,
        waitsFor: mayAnswer ? [] : await waitsForOf(em, request),
        expiresAt: expiresAt?.toISOString() ?? null,
        createdAt: createdAt.toISOString(),
      },
      message: 'Question found',
    };
  },
});

/** Null for an open question, and for an answer by link. */
async function readAnswerer(em: EntityManager, { submittedBy }: CollectionRequest): Promise<string | null> {
  const user = submittedBy ? await em.findOne(User, { id: submittedBy }) : null;
  if (!user) return null;
  const name = [user.firstName, user.lastName].filter(Boolean).join(' ');
  return name || (user.email ?? null);
}

export const answerPageQuestion = tenantRoute({
  name: 'submitAppPageQuestion',
  method: 'post',
  path: `${path}/submit`,
  summary: 'Answer a question of an app page',
  description:
    'Sends the data that a run of this page waits for, by a caller whom the question is for. The first answer counts, whichever way it comes.',
  permission: 'appPage.read',
  object: ({ params }) => `appPage:${params.appPageID}`,
  params: PageQuestionID,
  takesData: true,
  body: z.object({ submittedData: JsonObject }).meta({
    id: 'AppPageAnswer',
    examples: [{ submittedData: { decision: 'approve' } }],
  }),
  // No idempotency key is needed: the first submission to a question counts.
  idempotent: false,
  response: z.object({ collectionRequestID: z.uuid(), message: Message }),
  errors: ['409'],

  async handle({ params, body: { submittedData }, em, tenantID, caller, identity }, context) {
    const opened = await openQuestion({ em, tenantID, caller, identity }, context, params);
    const { request, run, mayAnswer } = opened;
    if (!mayAnswer)
      throw new AppError('PERMISSION_DENIED', 'This question is for another person', { reason: 'permission' });
    requireOpen({ request, run });
    await takeAnswer({ em, runs: context.runs }, request, { submittedData, submittedBy: identity.userID });
    return { collectionRequestID: request.id, message: 'Answer received' };
  },
});
