import { z } from 'zod';
import { JsonObject } from '#shared/json.ts';
import { IterationPath } from '#shared/workflow/frame.ts';
import { ID } from '../../http/id.ts';
import { pageFields, pageQuery, standardPage } from '../../http/paging.ts';
import { exampleCollectionRequest, exampleSubmission } from './examples.ts';
import { Stored } from './run-schemas.ts';

export const CollectionRequestID = z.object({ collectionRequestID: ID });

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
    submittedBy: z.uuid().nullable(),
    expiresAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'CollectionRequest', examples: [exampleCollectionRequest] });

export const CollectionRequests = z
  .object({ requests: z.array(CollectionRequest), ...pageFields })
  .meta({ id: 'CollectionRequestPage' });

export const CollectionRequestList = z.object({
  ...pageQuery(standardPage),
  status: CollectionRequest.shape.status.optional(),
});
