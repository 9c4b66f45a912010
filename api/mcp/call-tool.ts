import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { toAppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import { readJSON } from '#shared/core/lossless-json.ts';
import type { ApiContext } from '../context/context.ts';
import { reported } from '../http/response/report-error.ts';
import { refuseManyNames } from '../tools/argument-names.ts';
import type { Tool, ToolRegistry } from '../tools/registry.ts';
import { searchTools } from '../tools/search.ts';
import type { ToolArguments } from '../tools/tool.ts';
import { AWAIT, askForApproval, awaitApproval, mustWait } from './approval.ts';
import { CALL, FIND, SEARCH } from './finders.ts';
import { findOffered } from './offered.ts';
import { invalidParams } from './protocol-errors.ts';
import { errorOf, resultOf } from './results.ts';
import type { Session } from './session.ts';
import { startRun, startsRun } from './start-run.ts';
import { isListed } from './tool-choice.ts';

export interface Means {
  context: ApiContext;
  registry: ToolRegistry;
  /** Whether the service is shutting down, which ends its calls. */
  isClosing(): boolean;
}

interface Asked {
  params: { name: string; arguments?: ToolArguments | undefined };
  /** If a model calls the tool by the tool that calls others: where its answer begins. */
  throughCall?: { offset: number };
  mcpReq: Pick<ServerContext['mcpReq'], 'signal' | 'notify' | '_meta'>;
  /** Whether the client has cancelled the call, so that what it has begun is to be ended. */
  isCancelled(): boolean;
}

/**
 * Calls a tool as REST would; its errors are results, so that the model reads them. A tool of the caller's list answers with text for a
 * model; a program that calls another by its name also gets the answer of REST.
 */
export async function callTool(means: Means, session: Session, asked: Asked): Promise<CallToolResult> {
  const { context, registry } = means;
  const { tenantID } = session.caller;
  const { params, mcpReq, isCancelled, throughCall } = asked;
  const { name, arguments: args = {} } = params;
  if (name === FIND || name === SEARCH) return findTools(means, session, params);
  if (name === CALL) return callTool(means, session, { ...asked, ...namedIn(args) });
  if (name === AWAIT) return awaitApproval(context, session, { ...args, signal: mcpReq.signal });
  const tool = registry.tools.get(name);
  const offered = tool ? undefined : (await findOffered(context, registry, session)).get(name);
  if (offered)
    return callTool(means, session, { ...asked, params: offered.callWith(args), throughCall: { offset: 0 } });
  if (!tool) throw invalidParams(`There is no tool ${JSON.stringify(name.slice(0, 100))}`);
  // A call that the caller may not make is refused below instead of being recorded for approval.
  if ((await mustWait(context, tool, tenantID)) && (await registry.allowed(tenantID, session.identity)).includes(tool))
    return withErrorResult(context.logger, name, () =>
      askForApproval(context, session, { tool, args, mcpReq, isCancelled }),
    );

  const answer = startsRun.has(name)
    ? await startRun(registry, session.caller, { name, args, mcpReq, isCancelled })
    : await registry.call(session.caller, name, args, { signal: mcpReq.signal });
  const isForModel = throughCall !== undefined || (session.choice.kind !== 'all' && isListed(session.choice, tool));
  return resultOf(tool, answer, { args, isForModel, throughCall });
}

async function findTools(
  { registry }: Means,
  { caller, identity, choice }: Session,
  { name, arguments: args = {} }: Asked['params'],
): Promise<CallToolResult> {
  const { status, body } = searchTools(registry, await registry.allowed(caller.tenantID, identity), args);
  const shown = { content: [{ type: 'text' as const, text: foundText(body) }] };
  return status === 200 && (name === SEARCH || choice.kind === 'all') ? { ...shown, structuredContent: body } : shown;
}

function foundText({ found, tools }: Record<string, unknown>): string {
  const listed = (tools as Pick<Tool, 'name' | 'description' | 'inputSchema'>[]).map(
    ({ name, description, inputSchema }) =>
      `${name}: ${description.replaceAll('\n\n', ' ')}\n  input: ${JSON.stringify(inputSchema)}`,
  );
  const more = `${listed.length} of ${found} tools that match.`;
  if (listed.length === 0) return 'No tool matches: use other words, or a group.';
  return [...listed, `${more} Next: ${CALL} with the name and the arguments of one.`].join('\n');
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
    return errorOf(tool, { status, body: { success: false, error: { ...reported(logger, error, { tool }) } } });
  }
}

function namedIn({ name, arguments: given, offset = 0 }: ToolArguments): Pick<Asked, 'params' | 'throughCall'> {
  const args = typeof given === 'string' ? parsed(given) : given;
  if (typeof name !== 'string' || name === CALL) throw invalidParams('name: expected the name of a tool');
  if (args !== undefined && (typeof args !== 'object' || args === null || Array.isArray(args)))
    throw invalidParams('arguments: expected an object');
  if (typeof offset !== 'number' || !(offset >= 0)) throw invalidParams('offset: expected a number from 0');
  refuseManyNames(args ?? {});
  return { params: { name, arguments: args as ToolArguments | undefined }, throughCall: { offset } };
}

/** Some models write the arguments as text. */
function parsed(text: string): unknown {
  try {
    return readJSON(text.slice(0, MAX_ARGUMENTS));
  } catch {
    return text;
  }
}

const MAX_ARGUMENTS = 100_000;
