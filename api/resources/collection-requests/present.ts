import type { z } from 'zod';
import type { CollectionRequest as CollectionRequestEntity } from '#shared/entities/tables/collection-request.ts';
import type { CollectionRequest } from './schemas.ts';

export function presentCollectionRequest(
  request: CollectionRequestEntity,
  { workflowID, answerURL }: { workflowID: string | null; answerURL: string | null },
): z.input<typeof CollectionRequest> {
  const { id, instanceID, nodeID, iteration, status, collectionType, collectionConfig } = request;
  return {
    collectionRequestID: id,
    instanceID,
    workflowID,
    nodeID,
    iteration,
    frame: request.frame ?? [],
    status,
    collectionType,
    collectionConfig,
    submittedData: request.submittedData ?? null,
    submittedBy: request.submittedBy ?? null,
    expiresAt: request.expiresAt?.toISOString() ?? null,
    answerURL,
    createdAt: request.createdAt.toISOString(),
    updatedAt: request.updatedAt.toISOString(),
  };
}
