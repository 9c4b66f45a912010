import { hash } from 'node:crypto';
import type { Json, JsonObject } from '../../core/json.ts';

/** A tool as a model is offered it. */
export interface OfferedTool {
  name: string;
  description: string;
  inputSchema: JsonObject;
}

/** Status of a call. `ready`: an API process is to execute it. `asked`: it waits for a decision or an answer of the user. */
export type ToolCallStatus = 'ready' | 'asked' | 'done' | 'failed' | 'denied';

/** The row of a call that a model has asked for. */
export interface ToolCall {
  id: string;
  tool: string;
  /** JSON that the model has written. */
  input: string;
  status: ToolCallStatus;
  /** JSON: what the tool answered, or the text of an error. */
  output: string | null;
  /** Why it was denied. */
  reason: string | null;
  isDecided: boolean;
  /** JSON of the model's provider, which wants it back. */
  providerMetadata: string | null;
}

/** Columns of a `ToolCall`. */
export const TOOL_CALL = `c.id, c.tool, c.input, c.status, c.output, c.reason, c.decided_at is not null as "isDecided",
  c.provider_metadata as "providerMetadata"`;

/** A part of a stored message. A call is a row of its own. */
export type StoredPart = { type: 'text'; text: string } | { type: 'step-start' } | { type: 'call'; id: string };

/** Name of the tool that describes the tools that a node names, as far as its caller may use them. */
export const DESCRIBE_TOOLS = 'describe_tools';

/** Name of the tool by which a model asks the user, who answers in the client; nothing else is executed. */
export const ASK_USER = 'askUser';

/** Names of the tools by which a model proposes something to the user. */
export const PROPOSE_WORKFLOW = 'proposeWorkflow';
export const PROPOSE_QUERY = 'proposeQuery';
export const PROPOSE_PAGE = 'proposePage';

/** The error of a call that was not made before the answer of the model ended. */
export const NOT_CALLED = 'It was not called: the answer ended before';
export const NOT_CONFIRMED = 'The user did not confirm it';

/** A call as a part of a UI message of the AI SDK. */
export function presentCall({ id, tool, input, status, output, reason, isDecided }: ToolCall): JsonObject {
  const part = { type: 'dynamic-tool', toolName: tool, toolCallId: id, input: JSON.parse(input) as Json };
  const isConfirmed = isDecided && tool !== ASK_USER;
  const confirmed: JsonObject = isConfirmed ? { approval: { id, approved: true } } : {};
  switch (status) {
    case 'done':
      return { ...part, state: 'output-available', output: read(output), ...confirmed };
    case 'failed':
      return { ...part, state: 'output-error', errorText: String(read(output)), ...confirmed };
    case 'denied':
      return { ...part, state: 'output-denied', approval: { id, approved: false, ...(reason !== null && { reason }) } };
    case 'asked':
      if (tool !== ASK_USER) return { ...part, state: 'approval-requested', approval: { id } };
      return { ...part, state: 'input-available' };
    case 'ready':
      return { ...part, state: isConfirmed ? 'approval-responded' : 'input-available', ...confirmed };
  }
}

export function read(output: string | null): Json {
  return output === null ? null : (JSON.parse(output) as Json);
}

/** Names an input independently of the order of its fields. */
export function digestOf(input: unknown): string {
  return hash('sha256', JSON.stringify(sorted(input)) ?? '', 'hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, part]) => [name, sorted(part)]),
  );
}
