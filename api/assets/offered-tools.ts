import { afterCommit } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { ApiContext } from '../context/context.ts';

/** Tells the processes of the MCP service that the offered workflows and queries of a tenant have changed. */
export const OFFERED_TOOLS = 'mcp.offered';

interface Change {
  /** The entity manager of the request, whose transaction may be that of an import with many changes. */
  em: EntityManager;
  tenantID: string;
  /** Whether the asset is offered, or was before. */
  isOffered: boolean;
}

/** Tells of a change once it is committed. A message that is lost leaves clients with the list that they have. */
export function announceOffered(
  { messaging }: Pick<ApiContext, 'messaging'>,
  { em, tenantID, isOffered }: Change,
): void {
  if (!isOffered) return;
  afterCommit(em, () => void messaging.backplane.messages.publish(OFFERED_TOOLS, tenantID).catch(() => undefined));
}
