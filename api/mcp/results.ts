import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Tool } from '../tools/registry.ts';
import type { ToolArguments, ToolResult } from '../tools/tool.ts';
import { readable } from './readable.ts';

interface About {
  args: ToolArguments;
  /** Text alone: a client that shows a model text and structured content would fill its context twice. */
  isForModel: boolean;
  throughCall: { offset: number } | undefined;
}

/** The answer of a tool, as text for a model, and for a program as the body of REST beside it. */
export function resultOf(tool: Tool, answer: ToolResult, { args, isForModel, throughCall }: About): CallToolResult {
  const { status, body } = answer;
  if (status >= 400) return errorOf(tool.name, answer);
  // Only tools of agents take an offset that is not the one of their route.
  const own = 'route' in tool ? undefined : args.offset;
  const shown = {
    name: tool.name,
    args,
    offset: throughCall?.offset || (typeof own === 'number' ? own : 0),
    fields: Object.keys(tool.inputSchema.properties ?? {}).filter((name) => name !== 'offset' || !('route' in tool)),
    isRepeatable: tool.annotations.readOnlyHint,
    isCalledByName: throughCall !== undefined,
  };
  const content = [{ type: 'text' as const, text: readable({ ...body, ...followUp(tool.name, body) }, shown) }];
  return isForModel ? { content } : { content, structuredContent: body };
}

/** The calls that may follow the start of a run. */
function followUp(name: string, { instanceID, status, next }: ToolResult['body']): { next?: readonly string[] } {
  if (next !== undefined || typeof instanceID !== 'string' || !/run|execute|test_workflow/.test(name)) return {};
  if (status === 'COMPLETED' || status === 'CANCELLED') return {};
  if (status === 'FAILED') return { next: [`get_run {"instanceID":"${instanceID}"} says why`] };
  return { next: [`The run goes on: get_run {"instanceID":"${instanceID}"} shows how it ends`] };
}

/** An error, with what the model can change. */
export function errorOf(tool: string, { status, body }: ToolResult): CallToolResult {
  const { error } = body as { error?: { code: string; message: string; details?: unknown } };
  const shown = {
    error: true,
    message: error?.message ?? 'It failed',
    tool,
    status,
    code: error?.code,
    details: error?.details,
    next: advice[error?.code ?? ''],
  };
  return { content: [{ type: 'text', text: JSON.stringify(shown) }], isError: true };
}

/** Advice about an error, by its code. */
const advice: Readonly<Record<string, string>> = {
  VALIDATION_ERROR: 'Change what the message names, and call again.',
  INVALID_REQUEST: 'Change what the message names, and call again.',
  NOT_FOUND: 'Look the id up: find_assets finds assets and runs by title.',
  SCHEMA_NOT_FOUND: 'There is no such type: get_form without `type` lists them.',
  PERMISSION_DENIED: 'The user lacks a permission: say so, and do not try other ways.',
  CONFLICT: 'Something has changed or exists already: read it again, then decide.',
  PAYLOAD_TOO_LARGE: 'Ask for less, or send less at once.',
  RATE_LIMITED: 'Wait a moment before you call again.',
  QUOTA_EXCEEDED: 'A quota is used up: tell the user.',
  UNAVAILABLE: 'Something is not reachable: try once more in a moment, then tell the user.',
  UPSTREAM_FAILED: 'The other server has failed: check the settings of the datasource, or tell the user.',
  UPSTREAM_TIMEOUT: 'The other server took too long: ask for less, or try once more.',
};
