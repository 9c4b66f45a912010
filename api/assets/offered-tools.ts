import type { ApiContext } from '../context/context.ts';

/** Tells the processes of the MCP service that the offered workflows and queries of a tenant have changed. */
export const OFFERED_TOOLS = 'mcp.offered';

interface Change {
  tenantID: string;
  /** Whether the asset is offered, or was before. */
  isOffered: boolean;
}

/** To be called after the change is committed. A message that is lost leaves clients with the list that they have. */
export function announceOffered({ messaging }: Pick<ApiContext, 'messaging'>, { tenantID, isOffered }: Change): void {
  if (isOffered) void messaging.backplane.messages.publish(OFFERED_TOOLS, tenantID).catch(() => undefined);
}
