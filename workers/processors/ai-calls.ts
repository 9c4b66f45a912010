import type { aiCalls } from '#shared/messaging/queues/ai-calls.ts';
import { answerChat } from '../ai/chat.ts';
import type { RPCHandler } from './answer-requests.ts';

const test = {
  purpose: 'test',
  instructions: 'You test a connection.',
  messages: [{ role: 'user', content: 'Answer with the word "ok".' }],
  // Enough for models whose reasoning counts as output.
  maxOutputTokens: 256,
  maxRetries: 0,
} as const;

export const answerAICall: RPCHandler<typeof aiCalls> = async ({ request, signal }, context) => {
  const { ai } = context;
  const { tenantID, caller } = request;
  if (request.kind === 'test') return ai.text({ ...test, tenantID, caller, settings: request.settings, signal });
  if (request.kind === 'chat') return answerChat(context, request, signal);
  const { purpose, instructions, messages, maxOutputTokens } = request;
  return ai.text({ tenantID, caller, purpose, instructions, messages, maxOutputTokens, signal });
};
