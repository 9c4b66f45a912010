import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { exampleIDs } from '../../http/fields/example-ids.ts';
import { ShownForm } from '../../questions/shown-form.ts';
import { answerableFields } from '../../questions/waits-for.ts';

export const PageQuestionID = z.object({ appPageID: idOf('appPage'), appPageQuestionID: idOf('question') });

const exampleSummary = {
  collectionRequestID: exampleIDs.collectionRequestID,
  instanceID: exampleIDs.instanceID,
  workflowAlias: 'refund',
  collectionType: 'approval',
  title: 'Refund of 40 €?',
  isOwnRun: false,
  expiresAt: null,
  createdAt: '2026-03-02T09:00:00.000Z',
};

export const PageQuestionSummary = z
  .object({
    collectionRequestID: z.uuid(),
    instanceID: z.uuid(),
    workflowAlias: z.string().describe('Under which the page binds the workflow of the run'),
    collectionType: z.string(),
    title: z.string().nullable(),
    isOwnRun: z.boolean().describe('Whether the caller has started the run'),
    expiresAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'AppPageQuestionSummary', examples: [exampleSummary] });

export const PageQuestion = PageQuestionSummary.extend({
  status: z.enum(['PENDING', 'COMPLETED', 'EXPIRED', 'CANCELLED']),
  answeredBy: z.string().nullable().describe('The name, or the address, of the member who has answered'),
  isOwnAnswer: z.boolean().describe('Whether that is the caller'),
  ...answerableFields,
  collectionConfig: ShownForm,
}).meta({
  id: 'AppPageQuestion',
  examples: [
    {
      ...exampleSummary,
      status: 'PENDING',
      answeredBy: null,
      isOwnAnswer: false,
      mayAnswer: true,
      waitsFor: [],
      collectionConfig: { collectionType: 'approval', title: 'Refund of 40 €?' },
    },
  ],
});
