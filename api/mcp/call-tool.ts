import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import type { ToolRegistry } from '../tools/registry.ts';
import type { ToolAnswer, ToolArguments } from '../tools/tool.ts';
import { CALL, SEARCH, searchTools } from './grouped.ts';
import { invalidParams } from './protocol-errors.ts';
import { followRun } from './run-progress.ts';
import type { Session } from './session.ts';

interface Asked {
  params: { name: string; arguments?: ToolArguments | undefined };
  mcpReq: Pick<ServerContext['mcpReq'], 'signal' | 'notify' | '_meta'>;
}

/** What REST would answer; its errors are results, so that the model reads them. */
export async function callTool(registry: ToolRegistry, session: Session, asked: Asked): Promise<CallToolResult> {
  const { params, mcpReq } = asked;
  const { name, arguments: args = {} } = params;
  if (name === SEARCH)
    return resultOf(name, searchTools(await registry.allowed(session.caller.tenantID, session.identity), args));
  if (name === CALL) return callTool(registry, session, { params: namedIn(args), mcpReq });
  if (!registry.tools.has(name)) throw invalidParams(`There is no tool ${JSON.stringify(name.slice(0, 100))}`);

  const answer = await registry.call(session.caller, name, args, { signal: mcpReq.signal });
  const token = mcpReq._meta?.progressToken;
  if (token === undefined || !startsRun.has(name) || answer.status >= 400) return resultOf(name, answer);
  return resultOf(name, await followRun(registry, session.caller, { answer, token, mcpReq }));
}

function namedIn({ name, arguments: args }: ToolArguments): Asked['params'] {
  if (typeof name !== 'string' || name === CALL) throw invalidParams('name: expected the name of a tool');
  if (args !== undefined && (typeof args !== 'object' || args === null || Array.isArray(args)))
    throw invalidParams('arguments: expected an object');
  return { name, arguments: args as ToolArguments | undefined };
}

/** Tools whose answer has the `instanceID` of a run. */
const startsRun: ReadonlySet<string> = new Set(['execute_workflow', 'test_workflow', 'rerun_workflow_instance']);

function resultOf(tool: string, { status, body }: ToolAnswer): CallToolResult {
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
