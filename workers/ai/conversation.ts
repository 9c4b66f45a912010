import type { ModelMessage, ToolCallPart, ToolResultPart } from 'ai';
import { asData } from '#shared/apps/ai/data.ts';
import {
  NOT_CALLED,
  NOT_CONFIRMED,
  PROPOSE_PAGE,
  PROPOSE_QUERY,
  PROPOSE_WORKFLOW,
  read,
  type StoredPart,
  TOOL_CALL,
  type ToolCall,
} from '#shared/apps/ai/tool-calls.ts';
import { newestWithin, ofCall, ofMessage } from '#shared/db/newest-within-bytes.ts';
import type { Pool } from '#shared/db/pool.ts';

const MAX_MESSAGES = 60;
const MAX_CHARACTERS = 300_000;
/** Characters of tools' results that a model gets, the newest first. */
const MAX_RESULTS = 200_000;
const LEFT_OUT = 'This result is left out: newer ones fill the room. Call the tool again if you need it.';

interface Stored {
  messageID: string;
  role: 'user' | 'assistant';
  parts: string;
}

export interface Conversation {
  /** The last messages, as many as a model gets. */
  messages: ModelMessage[];
  /** Parts that earlier steps have added to the message of this answer. */
  parts: StoredPart[];
}

/** The conversation of a session, with the calls of tools and what they answered. */
export async function readConversation(
  pool: Pool,
  { sessionID, messageID }: { sessionID: string; messageID: string },
): Promise<Conversation> {
  const { rows } = await pool.query<Stored>(MESSAGES, [sessionID, MAX_MESSAGES, MAX_READ]);
  const found = await pool.query<ToolCall>(CALLS, [sessionID, MAX_READ]);
  const calls = new Map(found.rows.map((call) => [call.id, call]));
  const budget = { left: MAX_RESULTS };
  const messages: ModelMessage[] = [];
  let size = 0;
  for (const { role, parts } of rows) {
    const converted = convert(role, partsOf(parts), { calls, budget });
    size += parts.length + JSON.stringify(converted).length;
    if (messages.length > 0 && size > MAX_CHARACTERS + MAX_RESULTS) break;
    messages.unshift(...converted);
  }
  const own = rows.find((row) => row.messageID === messageID);
  return { messages, parts: own ? partsOf(own.parts) : [] };
}

/** Bytes of messages, and of calls, that are read from the database: more than a model gets. */
const MAX_READ = 2 * 1024 ** 2;

const newest = 'select * from ai_message where session_id = $1 order by number desc limit $2';
const MESSAGES = `
select message_id as "messageID", role, parts from (${newestWithin(newest, { ...ofMessage, most: '$3' })}) m order by number desc`;

const ofSession = 'select * from ai_tool_call where session_id = $1';
const CALLS = `select ${TOOL_CALL} from (${newestWithin(ofSession, { ...ofCall, most: '$2' })}) c`;

function partsOf(text: string): StoredPart[] {
  // Safe: the API and workers have written the text.
  return JSON.parse(text) as StoredPart[];
}

interface Converting {
  calls: ReadonlyMap<string, ToolCall>;
  budget: { left: number };
}

function convert(role: Stored['role'], parts: readonly StoredPart[], converting: Converting): ModelMessage[] {
  if (role === 'user') {
    const content = textIn(parts);
    return content === '' ? [] : [{ role, content }];
  }
  // The newest results use the budget first, because a model needs them most.
  return stepsIn(parts)
    .toReversed()
    .map((step) => convertStep(step, converting))
    .toReversed()
    .flat();
}

function stepsIn(parts: readonly StoredPart[]): StoredPart[][] {
  const steps: StoredPart[][] = [[]];
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps;
}

function convertStep(parts: readonly StoredPart[], { calls, budget }: Converting): ModelMessage[] {
  const text = textIn(parts);
  const asked = parts.flatMap((part) => {
    const call = part.type === 'call' ? calls.get(part.id) : undefined;
    return call ? [call] : [];
  });
  if (asked.length === 0) return text === '' ? [] : [{ role: 'assistant', content: text }];
  const said = text === '' ? [] : [{ type: 'text' as const, text }];
  const results = asked.map((call) => resultOf(call, budget));
  return [
    { role: 'assistant', content: [...said, ...asked.map(callOf)] },
    { role: 'tool', content: results },
  ];
}

function callOf({ id, tool, input, providerMetadata }: ToolCall): ToolCallPart {
  return {
    ...{ type: 'tool-call', toolCallId: id, toolName: tool, input: JSON.parse(input) as unknown },
    ...(providerMetadata !== null && { providerOptions: JSON.parse(providerMetadata) as object }),
  } as ToolCallPart;
}

function resultOf(call: ToolCall, budget: { left: number }): ToolResultPart {
  const value = said(call);
  budget.left -= value.length;
  const output = { type: 'text' as const, value: budget.left < 0 ? LEFT_OUT : value };
  return { type: 'tool-result', toolCallId: call.id, toolName: call.tool, output };
}

/** Text of a tool's result for a model. It may come from anyone, so it is marked as data. */
export function said({
  tool,
  status,
  output,
  reason,
}: Pick<ToolCall, 'tool' | 'status' | 'output' | 'reason'>): string {
  const name = `result of ${tool}`;
  if (status === 'done' && isProposal.has(tool)) return PROPOSED;
  if (status === 'done') return asData(name, output ?? 'null');
  if (status === 'failed') return `It failed.\n${asData(name, String(read(output)))}`;
  if (status !== 'denied') return NOT_CALLED;
  if (reason === null) return `${NOT_CONFIRMED}. Do not try it again unless the user asks for it.`;
  return `${NOT_CONFIRMED}: ${reason}`;
}

/** The model has written a proposal itself, and need not read it again. */
const isProposal: ReadonlySet<string> = new Set([PROPOSE_PAGE, PROPOSE_QUERY, PROPOSE_WORKFLOW]);
const PROPOSED = 'The user sees it and decides. It is not applied, saved or run: do not say that it is.';

function textIn(parts: readonly StoredPart[]): string {
  return parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : [])).join('\n');
}
