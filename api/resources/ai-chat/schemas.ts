import { z } from 'zod';
import { exampleChat, exampleMessage, examplePart } from './examples.ts';

/** Of the client: any id that it knows the session by. */
export const ChatID = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[\w.:-]+$/, 'must consist of letters, digits, and . : _ -');

const Part = z
  .looseObject({ type: z.string(), text: z.string().optional() })
  .meta({ id: 'AIChatPart', examples: [examplePart] });

/** A UI message of the AI SDK. Of earlier messages nothing is read: the session has them. */
const Message = z
  .looseObject({
    id: z.string().max(128).optional(),
    role: z.enum(['system', 'user', 'assistant']),
    parts: z.array(Part).max(1_000).optional(),
    content: z.string().optional(),
  })
  .meta({ id: 'AIChatMessage', examples: [exampleMessage] });

const MAX_TEXT = 100_000;

/** What `useChat` sends. The last message is the one to answer. */
export const ChatRequest = z
  .looseObject({
    id: ChatID.optional().describe('Of the session; a new one begins if there is none'),
    conversationID: ChatID.optional().describe('Another name of `id`'),
    messages: z.array(Message).min(1).max(5_000),
    trigger: z.enum(['submit-message', 'regenerate-message']).default('submit-message'),
    clientContext: z.looseObject({}).nullish().describe('Where the user is in the client'),
    resumable: z.boolean().default(false).describe('The answer goes on when the client has gone away'),
  })
  .transform((body, check) => {
    const last = body.messages.at(-1);
    const text = last ? textOf(last) : '';
    const isAsked = body.trigger === 'submit-message';
    const refuse = (message: string) => check.addIssue({ code: 'custom', path: ['messages'], message });
    if (isAsked && last?.role !== 'user') refuse('the last message must be one of the user');
    else if (isAsked && text.trim() === '') refuse('the last message has no text');
    else if (text.length > MAX_TEXT) refuse(`a message has at most ${MAX_TEXT} characters`);
    const place = body.clientContext ? JSON.stringify(body.clientContext).slice(0, 2_000) : null;
    return {
      chatID: body.id ?? body.conversationID ?? null,
      message: isAsked ? { messageID: last?.id || null, text } : null,
      place,
      isResumable: body.resumable,
    };
  })
  .meta({ id: 'AIChat', examples: [exampleChat] });

function textOf({ parts = [], content = '' }: z.output<typeof Message>): string {
  const texts = parts.flatMap(({ type, text }) => (type === 'text' && text ? [text] : []));
  return texts.length > 0 ? texts.join('\n') : content;
}

export const ChatParams = z.object({ chatID: ChatID });
export const SessionQuery = z.object({ id: ChatID.optional().describe('Of the session; absent: all of the caller') });
export const HistoryQuery = z.object({ id: ChatID });
export const History = z.object({
  messages: z.array(
    z
      .looseObject({ id: z.string(), role: z.string(), parts: z.array(z.looseObject({})) })
      .meta({ id: 'AIStoredMessage', examples: [exampleMessage] }),
  ),
});
