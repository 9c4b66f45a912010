import { wholeEntry } from '#shared/access/audit/records.ts';
import { readable } from '#shared/access/audit/redact.ts';
import { ASK_USER, DESCRIBE_TOOLS } from '#shared/apps/ai/tool-calls.ts';
import { toAppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import type { ApiContext } from '../context/context.ts';
import { hidingOf } from '../http/audit/request-entry.ts';
import { reported } from '../http/response/report-error.ts';
import { needsConfirmation } from '../tools/confirmation.ts';
import type { Tool, ToolRegistry } from '../tools/registry.ts';
import { searchTools } from '../tools/search.ts';
import type { ToolCaller, ToolResult } from '../tools/tool.ts';
import type { CallEnd, ClaimedCall } from './chat-turns.ts';
import { identifyNow, identityOf, offerOf, SEARCH } from './offers.ts';
import { checkOwnTool } from './own-tools.ts';

interface CallServices {
  context: ApiContext;
  registry: ToolRegistry;
  signal: AbortSignal;
}

/** Characters of a result that a model and a client get. */
const MAX_OUTPUT = 32_000;
/** Characters of an input that is stored: more than a model may write. */
const MAX_SHOWN = 200_000;

/**
 * Runs a tool call that a model asked for, with the caller's present permissions. The status `asked`: the user must
 * confirm it first.
 */
export async function callTool(call: ClaimedCall, services: CallServices): Promise<CallEnd> {
  const answer = await answerOf(call, services).catch((error: unknown) => {
    const { status } = toAppError(error);
    const shown = reported(services.context.logger, error, { tool: call.tool, tenantID: call.tenantID });
    return { status, body: { success: false, error: { ...shown } } } satisfies ToolResult;
  });
  const ended = endOf(call, services);
  if (answer === 'asked') return ended('asked', null);
  if (answer.status < 400) {
    const body = answer.body as JsonObject;
    return ended('done', call.tool === DESCRIBE_TOOLS ? body : bounded(body));
  }
  return ended('failed', errorText(answer));
}

async function answerOf(call: ClaimedCall, { context, registry, signal }: CallServices): Promise<ToolResult | 'asked'> {
  const { tool: name, input, tenantID } = call;
  if (!isJsonObject(input)) return refusal(400, 'The input is not one JSON object, or is too large');
  const identity = await identifyNow(context, call);
  const allowed = await registry.allowed(tenantID, identity);
  if (name === SEARCH && call.sessionID) return search(registry, allowed, input);
  if (name === DESCRIBE_TOOLS && !call.sessionID) return describe(allowed, input);
  const own = call.sessionID ? checkOwnTool(name, input) : undefined;
  if (own) return name === ASK_USER && own.status === 200 ? 'asked' : own;

  const tool = allowed.find((one) => one.name === name);
  if (!tool) return refuse(call, context, registry.tools.has(name));
  if (!call.isConfirmed && needsConfirmation(tool)) return 'asked';
  if (call.tries > 1 && !mayRepeat(tool)) return UNKNOWN;
  return registry.call(toolCallerOf(call), name, input, { signal, idempotencyKey: call.id });
}

function toolCallerOf({ id, tenantID, caller, origin }: ClaimedCall): ToolCaller {
  const userAgent = origin === 'mcp' ? 'gantry-mcp' : 'gantry-ai';
  return { tenantID, who: { identity: identityOf(caller) }, userAgent, requestID: id };
}

/**
 * Whether a tool may be called again after the process of an earlier attempt died, perhaps when the call was already
 * done.
 */
function mayRepeat(tool: Tool): boolean {
  const { readOnlyHint, idempotentHint } = tool.annotations;
  return readOnlyHint || idempotentHint || ('route' in tool && Boolean(tool.route.idempotent));
}

const UNKNOWN = refusal(
  409,
  'The process that called this tool has ended, and it is not known what was done. Read the current state before you call it again.',
);

function search(registry: ToolRegistry, allowed: readonly Tool[], input: JsonObject): ToolResult {
  const limit = typeof input.limit === 'number' ? Math.min(input.limit, 10) : 5;
  const { status, body } = searchTools(registry, allowed, { ...input, limit });
  const tools = (body.tools as Tool[]).map(({ name, description }) => ({
    name,
    description: description.slice(0, 600),
  }));
  return { status, body: { ...body, tools } };
}

/** A tool that the caller may not use is left out: the model cannot call it. */
function describe(allowed: readonly Tool[], { names }: JsonObject): ToolResult {
  const listed: Json[] = Array.isArray(names) ? names : [];
  const tools = allowed.filter(({ name }) => listed.includes(name)).map(offerOf);
  return { status: 200, body: { tools } };
}

/** Answers and records a call of a tool that does not exist, or that this caller may not use. */
async function refuse(
  { id, tool, tenantID, caller }: ClaimedCall,
  { requests: { audit } }: ApiContext,
  exists: boolean,
): Promise<ToolResult> {
  const status = exists ? 403 : 404;
  const { userID, apiKeyID } = identityOf(caller);
  await audit.write(
    wholeEntry({
      ...{ tenantID, type: 'AI_TOOL_CALL', action: 'refuse', userID, apiKeyID: apiKeyID ?? null, status },
      details: { tool, toolCallID: id },
    }),
  );
  return refusal(status, exists ? 'The user may not use this tool' : `There is no tool ${JSON.stringify(tool)}`);
}

function refusal(status: number, message: string): ToolResult {
  const code = status === 404 ? 'NOT_FOUND' : status === 403 ? 'PERMISSION_DENIED' : 'VALIDATION_ERROR';
  return { status, body: { success: false, error: { code, message } } };
}

function errorText({ status, body }: ToolResult): string {
  const { error } = body;
  if (!isJsonObject(error)) return `status ${status}`;
  const { code, message, details } = error;
  const said = details === undefined ? '' : ` ${JSON.stringify(details).slice(0, 2_000)}`;
  return `${String(code)}: ${String(message).slice(0, 4_000)}${said}`;
}

function bounded(body: JsonObject): Json {
  const text = JSON.stringify(body);
  if (text.length <= MAX_OUTPUT) return body;
  return {
    success: true,
    isCut: true,
    characters: text.length,
    hint: 'Only the beginning is here: ask for less (pageSize, limit, fields).',
    beginning: text.slice(0, MAX_OUTPUT),
  };
}

function endOf(call: ClaimedCall, { registry }: CallServices): (status: CallEnd['status'], output: Json) => CallEnd {
  const tool = registry.tools.get(call.tool);
  const shownInput = readable(call.input, {
    ...(tool && 'route' in tool && hidingOf(tool.route)),
    maxLength: MAX_SHOWN,
  });
  return (status, output) => ({ status, output, shownInput, chunks: chunksOf(call, { status, output }) });
}

function chunksOf(
  { id: toolCallId, tool }: ClaimedCall,
  { status, output }: Pick<CallEnd, 'status' | 'output'>,
): object[] {
  if (status === 'done') return [{ type: 'tool-output-available', toolCallId, output, dynamic: true }];
  if (status === 'failed') return [{ type: 'tool-output-error', toolCallId, errorText: String(output), dynamic: true }];
  return tool === ASK_USER ? [] : [{ type: 'tool-approval-request', approvalId: toolCallId, toolCallId }];
}
