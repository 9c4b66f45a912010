import type { OfferedTool } from '#shared/apps/ai/tool-calls.ts';
import type { Actor, Caller } from '#shared/core/caller.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Identified } from '../auth/identify.ts';
import type { Identity } from '../auth/identity.ts';
import type { ApiContext } from '../context/context.ts';
import type { Tool, ToolRegistry } from '../tools/registry.ts';
import { offerOwnTools } from './own-tools.ts';

export const SEARCH = 'search_tools';

/** Limits of the tools that one step offers: their descriptions take room in the context of the model. */
const MAX_TOOLS = 32;
const MAX_BYTES = 48_000;

/** Tools that most questions need. The others are found with `search_tools`. */
const usual = [
  'get_tenant_resource_summary',
  'search_resources',
  'get_datasource_schema',
  'get_datasource_sample_data',
  'get_query',
  'run_query',
  'get_workflow',
  'get_workflow_schema',
  'execute_workflow',
  'get_workflow_instance',
  'list_workflow_instances',
  'get_workflow_instance_logs',
];

export function identityOf({ type, id, userID, boundBy }: Caller): Identity {
  const identity = { userID: userID ?? id, email: null, boundBy };
  return type === 'apiKey' ? { ...identity, apiKeyID: id } : identity;
}

/**
 * The caller with their present membership; null if the caller, or an author who binds the call, is no member. A revoked
 * key is refused.
 */
export async function identifyNow(
  { access: { authenticator } }: Pick<ApiContext, 'access'>,
  { tenantID, caller }: { tenantID: string; caller: Caller },
): Promise<Identified> {
  const { boundBy = [] } = caller;
  const membershipOf = async ({ type, id, userID = id }: Actor) => {
    if (type === 'apiKey') return (await authenticator.identifyKey(id, { tenantID })).membership;
    return authenticator.findMembership(userID, tenantID);
  };
  const identity = identityOf(caller);
  const [membership, ...boundMemberships] = await Promise.all(
    [actorOf(identity), ...boundBy].map((actor) => membershipOf(actor)),
  );
  return { ...identity, membership: boundMemberships.includes(null) ? null : (membership ?? null) };
}

function actorOf({ userID, apiKeyID }: Identity): Actor {
  return apiKeyID ? { type: 'apiKey', id: apiKeyID, userID } : { type: 'user', id: userID, userID };
}

/** The tools of the next step, of those that the caller may use: the usual ones, and those that the session has found. */
export function offersOf({ groups }: ToolRegistry, allowed: readonly Tool[], found: readonly string[]): OfferedTool[] {
  const byName = new Map(allowed.map((tool) => [tool.name, tool]));
  const offered = [searchOffer(groups, allowed), ...offerOwnTools()];
  let bytes = JSON.stringify(offered).length;
  for (const name of new Set([...found, ...usual])) {
    const tool = byName.get(name);
    if (!tool || offered.length >= MAX_TOOLS) continue;
    const offer = offerOf(tool);
    const size = JSON.stringify(offer).length;
    if (bytes + size > MAX_BYTES) continue;
    offered.push(offer);
    bytes += size;
  }
  return offered;
}

export function offerOf({ name, description, inputSchema }: Tool): OfferedTool {
  return { name, description, inputSchema: inputSchema as unknown as JsonObject };
}

function searchOffer(groups: ToolRegistry['groups'], allowed: readonly Tool[]): OfferedTool {
  const counted = groups.flatMap(({ name }) => {
    const tools = allowed.filter(({ group }) => group === name).length;
    return tools === 0 ? [] : [{ name, tools }];
  });
  return {
    name: SEARCH,
    description: `Find tools by words of what you want to do, by a group, or both. Those that are found can be called in the next step.\n\nThe groups: ${counted.map(({ name, tools }) => `${name} (${tools})`).join(', ')}.\n\nCost: low; it changes nothing.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Words that the name or the description has' },
        group: { type: 'string', enum: counted.map(({ name }) => name) },
        limit: { type: 'integer', minimum: 1, maximum: 10, default: 5 },
      },
    },
  };
}
