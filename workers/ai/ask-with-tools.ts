import type { ModelMessage } from 'ai';
import { MAX_CALLS, MAX_STEPS } from '#shared/apps/ai/chat.ts';
import type { AIMessage } from '#shared/apps/ai/message.ts';
import { DESCRIBE_TOOLS, type OfferedTool } from '#shared/apps/ai/tool-calls.ts';
import { type Actor, boundBy, type Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { AI } from './calls.ts';
import { said } from './conversation.ts';
import type { ToolCalls } from './node-tools.ts';

type Answer = Awaited<ReturnType<AI['text']>>;
export type ToolMessage = AIMessage | ModelMessage;

interface ToolAsk {
  run: {
    instanceID: string;
    tenantID: string;
    nodeID: string;
    caller: Caller;
    author: Actor | null;
    idempotencyKey: string;
    attempt: number;
    isDryRun: boolean;
  };
  /** Tools that the node names. */
  names: readonly string[];
  toolCalls: ToolCalls;
  signal: AbortSignal;
  ask(messages: readonly ToolMessage[], tools: readonly OfferedTool[]): Promise<Answer>;
}

/** The tools that a node names, as far as both the caller of the run and the author of the node may use them now. */
export async function describeNamed({ run, names, toolCalls, signal }: Omit<ToolAsk, 'ask'>): Promise<OfferedTool[]> {
  if (names.length === 0) return [];
  const { tenantID, instanceID, idempotencyKey: key, isDryRun } = run;
  const wanted = {
    tenantID,
    instanceID,
    caller: callerOfTools(run),
    key: `${key} ${run.attempt}`,
    number: 0,
    tool: DESCRIBE_TOOLS,
    input: { names },
  };
  const { status, output } = await toolCalls.call({ ...wanted, isGranted: !isDryRun }, signal);
  if (status !== 'done')
    throw new AppError('PERMISSION_DENIED', `The caller of the run can use no tools: ${output ?? ''}`);
  // Safe: the API has written the output.
  return (JSON.parse(output ?? '{}') as { tools: OfferedTool[] }).tools;
}

/** The author's rights are checked too: with those of its caller alone, a run would do for the author what the author may not do. */
function callerOfTools({ caller, author }: ToolAsk['run']): Caller {
  if (author) return boundBy(caller, author);
  throw new AppError(
    'PERMISSION_DENIED',
    'It is not known who saved this node: save the workflow again to call its tools',
  );
}

/** Asks the model and calls the tools that it wants, until it answers without a call. Adds the calls and results to `messages`. */
export async function askWithTools(
  messages: ToolMessage[],
  tools: readonly OfferedTool[],
  { run, toolCalls, signal, ask }: ToolAsk,
): Promise<Answer> {
  const used = { inputTokens: 0, outputTokens: 0 };
  const known = new Set(tools.map(({ name }) => name));
  let number = 0;
  for (let step = 0; ; step += 1) {
    const answer = await ask(messages, step < MAX_STEPS ? tools : []);
    used.inputTokens += answer.inputTokens;
    used.outputTokens += answer.outputTokens;
    const wanted = answer.calls.slice(0, MAX_CALLS).map((call) => ({ ...call, id: newID() }));
    if (wanted.length === 0 || step >= MAX_STEPS) return { ...answer, ...used };
    const results: ModelMessage = { role: 'tool', content: [] };
    for (const { id, toolName, input } of wanted) {
      number += 1;
      const { tenantID, idempotencyKey: key, isDryRun, instanceID, nodeID } = run;
      const ofRun = { tenantID, instanceID, caller: callerOfTools(run), key };
      const call = { ...ofRun, number, tool: toolName, input, isGranted: !isDryRun };
      const ended = known.has(toolName)
        ? await toolCalls.call(call, signal)
        : await toolCalls.refuse({ ...call, nodeID });
      const output = { type: 'text' as const, value: said(ended) };
      results.content.push({ type: 'tool-result', toolCallId: id, toolName, output });
    }
    const calls = wanted.map(({ id, toolName, input, providerMetadata }) => ({
      ...{ type: 'tool-call' as const, toolCallId: id, toolName, input },
      ...(providerMetadata && { providerOptions: providerMetadata as object }),
    }));
    const text = answer.text === '' ? [] : [{ type: 'text' as const, text: answer.text }];
    messages.push({ role: 'assistant', content: [...text, ...calls] } as ModelMessage, results);
  }
}
