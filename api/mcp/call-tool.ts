import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { toAppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { ApiContext } from '../context/context.ts';
import { reported } from '../http/response/report-error.ts';
import { refuseManyNames } from '../tools/argument-names.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { searchTools } from '../tools/search.ts';
import type { ToolArguments, ToolResult } from '../tools/tool.ts';
import { AWAIT, askForApproval, awaitApproval, mustWait } from './approval.ts';
import { CALL, SEARCH } from './grouped.ts';
import { invalidParams } from './protocol-errors.ts';
import type { Session } from './session.ts';
import { startRun, startsRun } from './start-run.ts';

export interface Means {
  context: ApiContext;
  registry: ToolRegistry;
  /** Whether the service is shutting down, which ends its calls. */
  isClosing(): boolean;
}

interface Asked {
  params: { name: string; arguments?: ToolArguments | undefined };
  mcpReq: Pick<ServerContext['mcpReq'], 'signal' | 'notify' | '_meta'>;
  /** Whether the client has cancelled the call, so that what it has begun is to be ended. */
  isCancelled(): boolean;
}

/** Calls a tool as REST would; its errors are results, so that the model reads them. */
export async function callTool(means: Means, session: Session, asked: Asked): Promise<CallToolResult> {
  const { context, registry } = means;
  const { tenantID } = session.caller;
  const { params, mcpReq, isCancelled } = asked;
  const { name, arguments: args = {} } = params;
  if (name === SEARCH) return resultOf(name, searchTools(await registry.allowed(tenantID, session.identity), args));
  if (name === CALL) return callTool(means, session, { ...asked, params: namedIn(args) });
  if (name === AWAIT) return awaitApproval(context, session, { ...args, signal: mcpReq.signal });
  const tool = registry.tools.get(name);
  if (!tool) throw invalidParams(`There is no tool ${JSON.stringify(name.slice(0, 100))}`);
  // A call that the caller may not make is refused below instead of being recorded for approval.
  if ((await mustWait(context, tool, tenantID)) && (await registry.allowed(tenantID, session.identity)).includes(tool))
    return withErrorResult(context.logger, name, () =>
      askForApproval(context, session, { tool, args, mcpReq, isCancelled }),
    );

  if (startsRun.has(name))
    return resultOf(name, await startRun(registry, session.caller, { name, args, mcpReq, isCancelled }));
  return resultOf(name, await registry.call(session.caller, name, args, { signal: mcpReq.signal }));
}

async function withErrorResult(
  logger: Logger,
  tool: string,
  ask: () => Promise<CallToolResult>,
): Promise<CallToolResult> {
  try {
    return await ask();
  } catch (error) {
    const { status } = toAppError(error);
    return resultOf(tool, { status, body: { success: false, error: { ...reported(logger, error, { tool }) } } });
  }
}

function namedIn({ name, arguments: args }: ToolArguments): Asked['params'] {
  if (typeof name !== 'string' || name === CALL) throw invalidParams('name: expected the name of a tool');
  if (args !== undefined && (typeof args !== 'object' || args === null || Array.isArray(args)))
    throw invalidParams('arguments: expected an object');
  refuseManyNames(args ?? {});
  return { name, arguments: args as ToolArguments | undefined };
}

function resultOf(tool: string, { status, body }: ToolResult): CallToolResult {
  if (status < 400) return { content: [{ type: 'text', text: JSON.stringify(body) }], structuredContent: body };
  const { error } = body as { error?: { code: string; message: string; details?: unknown } };
  const shown = {
    error: true,
    message: error?.message ?? 'It failed',
    tool,
    status,
    code: error?.code,
    details: error?.details,
  };
  return { content: [{ type: 'text', text: JSON.stringify(shown) }], isError: true };
}
