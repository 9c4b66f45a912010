import { z } from 'zod';
import { JsonObject } from '#shared/core/json.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import { pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { ShownForm } from '../../questions/shown-form.ts';
import { answerableFields } from '../../questions/waits-for.ts';
import { Stored } from '../../runs/run-schemas.ts';
import { exampleCollectionRequest, exampleForm, exampleSubmission } from './examples.ts';

export const CollectionRequestID = z.object({ collectionRequestID: idOf('question') });

export const Submission = z
  .object({ submittedData: JsonObject })
  .meta({ id: 'CollectionSubmission', examples: [exampleSubmission] });

export const CollectionRequest = z
  .object({
    collectionRequestID: z.uuid(),
    instanceID: z.uuid(),
    workflowID: z.uuid().nullable(),
    nodeID: z.string(),
    iteration: z.int(),
    frame: IterationPath,
    status: z.enum(['PENDING', 'COMPLETED', 'EXPIRED', 'CANCELLED']),
    collectionType: z.string(),
    collectionConfig: Stored,
    submittedData: Stored.nullable(),
    submittedBy: z.uuid().nullable().meta({ description: 'Null for an answer by link' }),
    expiresAt: z.iso.datetime().nullable(),
    answerURL: z.string().nullable().meta({
      description:
        'While the request is open: a link by which its holder answers once, without signing in. Only for callers who may answer, and only if the node allows it',
    }),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'CollectionRequest', examples: [exampleCollectionRequest] });

export const ReadCollectionRequest = CollectionRequest.extend(answerableFields).meta({
  id: 'ReadCollectionRequest',
  examples: [{ ...exampleCollectionRequest, mayAnswer: true, waitsFor: [] }],
});

export const FormToken = z.object({ token: z.string().meta({ description: 'The last part of the link' }) });

export const Form = ShownForm.extend({ expiresAt: z.iso.datetime().nullable() }).meta({
  id: 'Form',
  examples: [exampleForm],
});

export const CollectionRequests = z
  .object({ requests: z.array(CollectionRequest), ...pageFields })
  .meta({ id: 'CollectionRequestPage' });

export const CollectionRequestList = z.object({
  ...pageQuery(standardPage),
  status: CollectionRequest.shape.status.optional(),
  instanceID: idOf('run').optional().describe('Those of this run'),
});
