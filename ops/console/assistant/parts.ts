import type { ChatMessage, ChatPart, Chunk } from '../client/chat-parts.ts';

/** The tool by which a model asks the user, who answers in the panel. */
export const ASK_USER = 'askUser';
export const PLANS: ReadonlySet<string | undefined> = new Set(['createPlan', 'updatePlan']);

/** The conversation after a piece of the answer that is being written. */
export function withChunk(messages: readonly ChatMessage[], chunk: Chunk): readonly ChatMessage[] {
  if (chunk.type === 'start') {
    const id = chunk.messageId ?? 'answer';
    return messages.at(-1)?.id === id ? messages : [...messages, { id, role: 'assistant', parts: [] }];
  }
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return messages;
  const parts = partsAfter(last.parts, chunk);
  return parts === last.parts ? messages : [...messages.slice(0, -1), { ...last, parts }];
}

function partsAfter(parts: readonly ChatPart[], chunk: Chunk): readonly ChatPart[] {
  const { type, toolCallId } = chunk;
  const change = (next: Partial<ChatPart>) =>
    parts.map((part) =>
      part.toolCallId !== undefined && part.toolCallId === toolCallId ? { ...part, ...next } : part,
    );
  switch (type) {
    case 'start-step':
      return parts.length === 0 ? parts : [...parts, { type: 'step-start' }];
    case 'reset-step':
      return parts.slice(0, parts.findLastIndex((part) => part.type === 'step-start') + 1);
    case 'text-start':
      return [...parts, { type: 'text', text: '' }];
    case 'text-delta': {
      const text = parts.at(-1);
      if (text?.type !== 'text') return [...parts, { type: 'text', text: chunk.delta ?? '' }];
      return [...parts.slice(0, -1), { ...text, text: `${text.text ?? ''}${chunk.delta ?? ''}` }];
    }
    case 'tool-input-available': {
      const { toolName, input } = chunk;
      return [
        ...parts,
        {
          type: 'dynamic-tool',
          state: 'input-available',
          input,
          ...(toolName && { toolName }),
          ...(toolCallId && { toolCallId }),
        },
      ];
    }
    case 'tool-approval-request':
      return change({ state: 'approval-requested', approval: { id: toolCallId ?? '' } });
    case 'tool-output-available':
      return change({ state: 'output-available', output: chunk.output });
    case 'tool-output-error':
      return change({ state: 'output-error', ...(chunk.errorText !== undefined && { errorText: chunk.errorText }) });
    case 'tool-output-denied':
      return change({ state: 'output-denied' });
    default:
      return parts;
  }
}

/** Calls of the last step that wait for the user: for an approval, or for an answer. */
export function waitingIn(messages: readonly ChatMessage[]): ChatPart[] {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return [];
  return last.parts.filter(
    ({ state, toolName }) => state === 'approval-requested' || (state === 'input-available' && toolName === ASK_USER),
  );
}

/** The decision of the user about a call, as the protocol has it. */
export type Decision = { approved: boolean } | { answer: unknown };

export function decided(part: ChatPart, decision: Decision): ChatPart {
  if ('answer' in decision) return { ...part, state: 'output-available', output: decision.answer };
  return {
    ...part,
    state: 'approval-responded',
    approval: { id: part.toolCallId ?? '', approved: decision.approved },
  };
}
