import type { aiCalls } from '#shared/messaging/queues/ai-calls.ts';
import { answerChat } from '../ai/chat.ts';
import type { Answerer } from './answer-requests.ts';

const test = {
  purpose: 'test',
  instructions: 'You test a connection.',
  messages: [{ role: 'user', content: 'Answer with the word "ok".' }],
  // Models that reason count their reasoning.
  maxOutputTokens: 256,
  maxRetries: 0,
} as const;

export const answerAICall: Answerer<typeof aiCalls> = async ({ question, signal }, context) => {
  const { ai } = context;
  const { tenantID, caller } = question;
  if (question.kind === 'test') return ai.text({ ...test, tenantID, caller, settings: question.settings, signal });
  if (question.kind === 'chat') return answerChat(context, question, signal);
  const { purpose, instructions, messages, maxOutputTokens } = question;
  return ai.text({ tenantID, caller, purpose, instructions, messages, maxOutputTokens, signal });
};
