import type { CollectionRequest } from '#shared/entities/tables/collection-request.ts';
import type { FormLinks } from '#shared/runs/form-links.ts';

const MINUTE_MS = 60_000;

/** The link that answers an open request; null if its node does not allow one. */
export function answerURLOf(links: FormLinks, request: CollectionRequest): string | null {
  const { tenantID, instanceID, nodeID, path, status } = request;
  const isOpen = status === 'PENDING' && (linkExpiryOf(request)?.getTime() ?? 0) > Date.now();
  return isOpen ? links.urlOf({ tenantID, instanceID, nodeID, path }) : null;
}

/** When the link to a request, or the request itself, expires; null if there is no link to it. */
export function linkExpiryOf({ collectionConfig, createdAt, expiresAt }: CollectionRequest): Date | null {
  const { answerByLink, linkExpiryMinutes } = collectionConfig;
  if (answerByLink !== true || typeof linkExpiryMinutes !== 'number') return null;
  const ofLink = createdAt.getTime() + linkExpiryMinutes * MINUTE_MS;
  return new Date(Math.min(ofLink, expiresAt?.getTime() ?? ofLink));
}
