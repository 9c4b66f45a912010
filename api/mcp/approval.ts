import { setTimeout as sleep } from 'node:timers/promises';
import type { CallToolResult, Tool as ListedTool, ServerContext } from '@modelcontextprotocol/server';
import { readable } from '#shared/access/audit/redact.ts';
import type { ToolApprovalPolicy } from '#shared/apps/ai/tool-approvals.ts';
import { read } from '#shared/apps/ai/tool-calls.ts';
import { isJsonObject } from '#shared/core/json.ts';
import type { ApiContext } from '../context/context.ts';
import { hidingOf } from '../http/audit/request-entry.ts';
import { callerOf } from '../http/serve/mount.ts';
import { readApprovalPolicy, readWaitingCall, recordCall, type WaitingCall, withdrawCall } from '../tools/approvals.ts';
import { needsConfirmation } from '../tools/confirmation.ts';
import type { Tool } from '../tools/registry.ts';
import type { ToolArguments } from '../tools/tool.ts';
import { approversOf } from './approvers.ts';
import { invalidParams } from './protocol-errors.ts';
import type { Session } from './session.ts';

export const AWAIT = 'await_tool_approval';

/** Less than the minute for which clients wait for an answer. */
const SECONDS = 50;
const PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;
/** Bytes of an input as people see it. */
const MAX_SHOWN = 64_000;

type ApprovalServices = Pick<ApiContext, 'pool' | 'access'>;

/** Whether a person must approve a call of the tool under this policy. */
export function waits(tool: Tool, policy: ToolApprovalPolicy): boolean {
  if (policy === 'none') return false;
  return policy === 'changes' ? needsConfirmation(tool) : tool.annotations.destructiveHint;
}

/**
 * Whether a person must approve a call of the tool in this tenant. The policy is read only for tools that change
 * something.
 */
export async function mustWait({ pool }: ApprovalServices, tool: Tool, tenantID: string): Promise<boolean> {
  return needsConfirmation(tool) && waits(tool, await readApprovalPolicy(pool, tenantID));
}

interface Asked {
  tool: Tool;
  args: ToolArguments;
  mcpReq: Pick<ServerContext['mcpReq'], 'signal' | 'notify' | '_meta'>;
  isCancelled(): boolean;
}

/**
 * Records a call instead of making it. A client that shows progress is answered after the decision, others get the id of the call at
 * once. A call that its client cancels before it is decided can no longer be approved.
 */
export async function askForApproval(
  services: ApprovalServices,
  session: Session,
  asked: Asked,
): Promise<CallToolResult> {
  const { caller, identity } = session;
  const { tool, args, mcpReq, isCancelled } = asked;
  const id = await recordCall(services.pool, {
    tenantID: caller.tenantID,
    caller: callerOf(identity),
    tool: tool.name,
    input: args,
    shownInput: readable(args, { ...('route' in tool && hidingOf(tool.route)), maxLength: MAX_SHOWN }),
    approvers: await approversOf(services, caller.tenantID),
  });
  const token = mcpReq._meta?.progressToken;
  if (token === undefined) return follow(services, session, { id, seconds: 0, signal: mcpReq.signal });
  const message = `The call ${id} of ${tool.name} waits for the approval of a person`;
  await mcpReq.notify({ method: 'notifications/progress', params: { progressToken: token, progress: 0, message } });
  const result = await follow(services, session, { id, seconds: SECONDS, signal: mcpReq.signal });
  if (isCancelled()) await withdrawCall(services.pool, { tenantID: caller.tenantID, id });
  return result;
}

/** The tool with which a client asks for the result of a call that waits. */
export function awaitApproval(
  services: ApprovalServices,
  session: Session,
  { toolCallID, seconds = 25, signal }: ToolArguments & { signal: AbortSignal },
): Promise<CallToolResult> {
  if (typeof toolCallID !== 'string' || !/^[0-9a-f-]{36}$/.test(toolCallID))
    throw invalidParams('toolCallID: expected the id of a call that waits');
  if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= SECONDS))
    throw invalidParams(`seconds: expected a number from 0 to ${SECONDS}`);
  return follow(services, session, { id: toolCallID, seconds, signal });
}

interface Following {
  id: string;
  seconds: number;
  signal: AbortSignal;
}

async function follow(
  { pool }: ApprovalServices,
  { caller, identity }: Session,
  { id, seconds, signal }: Following,
): Promise<CallToolResult> {
  const deadline = performance.now() + seconds * 1_000;
  const which = { tenantID: caller.tenantID, callerID: callerOf(identity).id, id };
  for (let pause = PAUSE_MS; ; pause = Math.min(pause * 1.5, MAX_PAUSE_MS)) {
    const call = await readWaitingCall(pool, which);
    if (!call) return failed({ code: 'NOT_FOUND', message: 'There is no such call of yours' });
    const isOpen = call.status === 'asked' || call.status === 'ready';
    if (!isOpen || performance.now() >= deadline || signal.aborted) return resultOf(call);
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}

function resultOf({ id, tool, status, output, reason, expiresAt }: WaitingCall): CallToolResult {
  switch (status) {
    case 'done': {
      const body = read(output);
      const content = [{ type: 'text' as const, text: JSON.stringify(body) }];
      return { content, ...(isJsonObject(body) && { structuredContent: body }) };
    }
    case 'failed':
      return failed({ tool, message: String(read(output)) });
    case 'denied':
      return failed({
        tool,
        code: 'PERMISSION_DENIED',
        message: `A person has refused it${reason ? `: ${reason}` : ''}`,
      });
    case 'expired':
      return failed({ tool, code: 'CONFLICT', message: 'It was not approved in time, so it was not done' });
    default: {
      const hint =
        status === 'asked'
          ? `Nothing is done yet: a person with the permission ai.approve decides it. Tell the user, and ask with ${AWAIT}. The same call made again is this one.`
          : `It is approved and under way. Ask for its result with ${AWAIT}.`;
      const approval = { toolCallID: id, tool, status, expiresAt: expiresAt.toISOString(), hint };
      const body = { success: true, approval };
      return { content: [{ type: 'text', text: JSON.stringify(body) }], structuredContent: body };
    }
  }
}

function failed(shown: { tool?: string; code?: string; message: string }): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify({ error: true, ...shown }) }], isError: true };
}

/** Listed in tenants where calls wait for an approval. */
export const awaitTool: ListedTool = {
  name: AWAIT,
  title: 'Ask for a call that waited for an approval',
  description:
    'Ask how a call stands that waits for the approval of a person. Answers with the result of the tool once it was approved and done, with an error if it was refused or has expired, and otherwise with the handle again.\n\nUse it with the toolCallID of the answer to the call; tell the user meanwhile that their approval is awaited.\n\nCost: waits up to `seconds`; it changes nothing.',
  inputSchema: {
    type: 'object',
    properties: {
      toolCallID: { type: 'string' },
      seconds: { type: 'integer', minimum: 0, maximum: SECONDS, description: 'Default: 25' },
    },
    required: ['toolCallID'],
  },
  annotations: {
    title: 'Ask for a call that waited for an approval',
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
};
