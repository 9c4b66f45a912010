import { z } from 'zod';
import { readable } from '#shared/access/audit/redact.ts';
import { ASK_USER } from '#shared/apps/ai/tool-calls.ts';
import { isJsonObject, type Json } from '#shared/core/json.ts';
import { looseObject } from '#shared/core/record.ts';
import type { Decision } from './decisions.ts';
import { exampleChat, exampleMessage, examplePart, exampleSession } from './examples.ts';

/** An id of a session, which the client chooses. */
export const ChatID = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[\w.:-]+$/, 'must consist of letters, digits, and . : _ -');

const Part = looseObject({ type: z.string(), text: z.string().optional() }).meta({
  id: 'AIChatPart',
  examples: [examplePart],
});

/** A UI message of the AI SDK. Of earlier messages nothing is read: the session has them. */
const Message = looseObject({
  id: z.string().max(128).optional(),
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(Part).max(1_000).optional(),
  content: z.string().optional(),
}).meta({ id: 'AIChatMessage', examples: [exampleMessage] });

const MAX_TEXT = 100_000;
/** Characters of JSON: a draft of some fifty nodes. */
const MAX_CONTEXT = 40_000;

/** The request of `useChat`. The last message is the one to answer. */
export const ChatRequest = looseObject({
  id: ChatID.optional().describe('Of the session; a new one begins if there is none'),
  conversationID: ChatID.optional().describe('Another name of `id`'),
  messages: z.array(Message).min(1).max(5_000),
  trigger: z.enum(['submit-message', 'regenerate-message']).default('submit-message'),
  clientContext: looseObject({})
    .nullish()
    .describe(
      'Where the user is in the client, and what is open there. Values whose names say that they are secret do not reach the model. More than 40,000 characters are cut',
    ),
  resumable: z.boolean().default(false).describe('The answer goes on when the client has gone away'),
})
  .transform((body, check) => {
    const last = body.messages.at(-1);
    const text = last ? textOf(last) : '';
    const isAsked = body.trigger === 'submit-message';
    const decisions = isAsked && last?.role === 'assistant' ? decisionsIn(last) : [];
    const isDecided = decisions.length > 0;
    const refuse = (message: string) => check.addIssue({ code: 'custom', path: ['messages'], message });
    if (isAsked && last?.role !== 'user' && !isDecided)
      refuse('the last message must be one of the user, or one whose calls of tools the user has answered');
    else if (isAsked && !isDecided && text.trim() === '') refuse('the last message has no text');
    else if (text.length > MAX_TEXT) refuse(`a message has at most ${MAX_TEXT} characters`);
    const place = body.clientContext
      ? JSON.stringify(readable(body.clientContext, { maxLength: MAX_CONTEXT })).slice(0, MAX_CONTEXT)
      : null;
    return {
      chatID: body.id ?? body.conversationID ?? null,
      message: isAsked && !isDecided ? { messageID: last?.id || null, text } : null,
      decisions,
      place,
      isResumable: body.resumable,
    };
  })
  .meta({ id: 'AIChat', examples: [exampleChat] });

function textOf({ parts = [], content = '' }: z.output<typeof Message>): string {
  const texts = parts.flatMap(({ type, text }) => (type === 'text' && text ? [text] : []));
  return texts.length > 0 ? texts.join('\n') : content;
}

/** The user's decisions on calls of the last step: confirmations, and answers to questions. */
function decisionsIn({ parts = [] }: z.output<typeof Message>): Decision[] {
  const from = parts.findLastIndex(({ type }) => type === 'step-start') + 1;
  return parts.slice(from).flatMap(decisionIn);
}

function decisionIn({
  state,
  toolName,
  toolCallId: toolCallID,
  approval,
  output,
  input,
}: Record<string, unknown>): Decision[] {
  if (typeof toolCallID !== 'string' || !z.uuid().safeParse(toolCallID).success) return [];
  // Parsed from JSON.
  const shown = { toolCallID, input: input as Json | undefined };
  if (state === 'output-available' && toolName === ASK_USER) return [{ ...shown, answer: (output ?? null) as Json }];
  if (state !== 'approval-responded' || !isJsonObject(approval) || approval.id !== toolCallID) return [];
  const reason = typeof approval.reason === 'string' ? approval.reason.slice(0, 1_000) : null;
  return typeof approval.approved === 'boolean' ? [{ ...shown, approved: approval.approved, reason }] : [];
}

export const ChatParams = z.object({ chatID: ChatID });
export const SessionQuery = z.object({ id: ChatID.optional().describe('Of the session; absent: all of the caller') });
export const HistoryQuery = z.object({ id: ChatID });
export const History = z.object({
  messages: z.array(
    looseObject({ id: z.string(), role: z.string(), parts: z.array(looseObject({})) }).meta({
      id: 'AIStoredMessage',
      examples: [exampleMessage],
    }),
  ),
  isCut: z.boolean().describe('Older messages, or calls of tools, are left out: a session may have 256 MB'),
});

export const ChatSessions = z.object({
  hasModel: z
    .boolean()
    .describe('Whether the tenant or the deployment has a language model, without which there are no answers'),
  sessions: z.array(
    z
      .object({
        id: ChatID,
        title: z.string().describe('The beginning of the first message'),
        createdAt: z.iso.datetime(),
        updatedAt: z.iso.datetime(),
        isAnswering: z.boolean().describe('An answer is being written'),
        isWaiting: z.boolean().describe('A call of a tool, or a question, waits for the user'),
      })
      .meta({ id: 'AIChatSession', examples: [exampleSession] }),
  ),
});
