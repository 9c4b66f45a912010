import { z } from 'zod';
import { TOOLS_CHANNEL } from '#shared/apps/ai/chat.ts';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Tenant } from '#shared/entities/tables/tenant.ts';
import { ToolApproval as Entity } from '#shared/entities/tables/tool-approval.ts';
import { tenantRoute } from '../../context/routes.ts';
import { TenantID } from '../../http/fields/id.ts';
import { findPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import type { Identity } from '../../http/route/route.ts';
import { decideCall } from '../../tools/approvals.ts';
import { presentToolApproval } from './present.ts';
import {
  ToolApproval,
  ToolApprovalList,
  ToolApprovalPage,
  ToolApprovalPolicy,
  ToolApprovalPolicyChange,
  ToolCallID,
  ToolRefusal,
} from './schemas.ts';

const approves = { permission: 'ai.approve', object: () => 'ai:*' } as const;
const ofTenant = { object: ({ params }: { params: { tenantID: string } }) => `tenant:${params.tenantID}` };
const Answer = z.object({ toolApproval: ToolApproval });
const Decided = Answer.extend({ message: Message });

export const toolApprovalRoutes = [
  tenantRoute({
    name: 'getToolApprovalPolicy',
    method: 'get',
    path: '/tool-approval-policy',
    summary: 'Get which calls of tools wait for an approval',
    description: 'Returns which calls of tools over MCP wait until a person approves them.',
    permission: 'tenant.read',
    ...ofTenant,
    params: TenantID,
    response: ToolApprovalPolicy,

    handle: async ({ em, tenantID }) => presentPolicy(await getTenant(em, tenantID)),
  }),

  tenantRoute({
    name: 'setToolApprovalPolicy',
    method: 'put',
    path: '/tool-approval-policy',
    summary: 'Set which calls of tools wait for an approval',
    description:
      'Sets which calls of tools over MCP wait until a person approves them. Calls that wait already go on waiting. API keys may not set it.',
    permission: 'tenant.update',
    ...ofTenant,
    params: TenantID,
    body: ToolApprovalPolicyChange,
    response: ToolApprovalPolicy,

    async handle({ em, tenantID, identity, body: { policy, byAnother } }) {
      requirePerson(identity);
      const tenant = await getTenant(em, tenantID);
      tenant.toolApproval = policy;
      if (byAnother !== undefined) tenant.isApprovedByAnother = byAnother;
      await em.flush();
      return presentPolicy(tenant);
    },
  }),

  tenantRoute({
    name: 'listToolApprovals',
    method: 'get',
    path: '/tool-approvals',
    summary: 'List calls of tools that a person decides',
    description: 'Returns calls of tools over MCP that wait for an approval, or have waited, newest first.',
    ...approves,
    query: ToolApprovalList,
    response: ToolApprovalPage,

    async handle({ em, query }) {
      const waiting = query.waiting && { status: 'asked' as const, expiresAt: { $gt: new Date() } };
      const where = { origin: 'mcp', ...waiting };
      const { rows, fields } = await findPage(em, Entity, { where, query, exclude: ['output'] });
      return { toolApprovals: rows.map(presentToolApproval), ...fields };
    },
  }),

  tenantRoute({
    name: 'getToolApproval',
    method: 'get',
    path: '/tool-approvals/:toolCallID',
    summary: 'Get a call of a tool that a person decides',
    description: 'Returns what is to be called, by whose rights, and how it stands.',
    ...approves,
    params: ToolCallID,
    response: Answer,

    handle: async ({ em, params }) => ({ toolApproval: await find(em, params.toolCallID) }),
  }),

  tenantRoute({
    name: 'approveToolCall',
    method: 'post',
    path: '/tool-approvals/:toolCallID/approve',
    summary: 'Approve a call of a tool',
    description:
      'Lets the call be done once, by the rights that its caller has then. API keys may not approve; where the tenant asks for another person, neither may the caller.',
    ...approves,
    params: ToolCallID,
    response: Decided,
    errors: ['409'],
    // A repeated request decides nothing more.
    idempotent: false,

    async handle(
      { em, tenantID, identity, params: { toolCallID: id } },
      { pool, logger, access: { toolRights }, messaging: { backplane } },
    ) {
      await find(em, id);
      requirePerson(identity);
      const decision = { tenantID, id, deciderID: identity.userID, isApproved: true, reason: null };
      await decideCall({ pool, toolRights }, decision);
      backplane.messages
        .publish(TOOLS_CHANNEL, {})
        .catch((error) => logger.debug({ err: error }, 'processes not woken; they look by themselves'));
      return { toolApproval: await find(em, id), message: 'Approved: it is called now' };
    },
  }),

  tenantRoute({
    name: 'refuseToolCall',
    method: 'post',
    path: '/tool-approvals/:toolCallID/refuse',
    summary: 'Refuse a call of a tool',
    description: 'Ends the call without doing it. Its client is told, with the reason. API keys may not refuse.',
    ...approves,
    params: ToolCallID,
    body: ToolRefusal,
    response: Decided,
    errors: ['409'],
    // A repeated request decides nothing more.
    idempotent: false,

    async handle(
      { em, tenantID, identity, params: { toolCallID: id }, body: { reason = null } },
      { pool, access: { toolRights } },
    ) {
      await find(em, id);
      requirePerson(identity);
      await decideCall({ pool, toolRights }, { tenantID, id, deciderID: identity.userID, isApproved: false, reason });
      return { toolApproval: await find(em, id), message: 'Refused' };
    },
  }),
];

/** A model that has an API key would approve its own calls. */
function requirePerson({ apiKeyID }: Identity): void {
  if (apiKeyID)
    throw new AppError('PERMISSION_DENIED', 'Approvals of calls of tools are up to people: sign in', {
      reason: 'permission',
    });
}

async function find(em: EntityManager, id: string) {
  const found = await em.findOne(Entity, { id, origin: 'mcp' }, { refresh: true });
  if (!found) throw new AppError('NOT_FOUND', 'Call of a tool not found');
  return presentToolApproval(found);
}

async function getTenant(em: EntityManager, id: string): Promise<Tenant> {
  const tenant = await em.findOne(Tenant, { id });
  if (!tenant) throw new AppError('NOT_FOUND', 'Tenant not found');
  return tenant;
}

function presentPolicy({ toolApproval, isApprovedByAnother }: Tenant) {
  return { policy: toolApproval, byAnother: isApprovedByAnother };
}
