import { z } from 'zod';

/** A message of a conversation with a model. */
export const AIMessage = z.object({ role: z.enum(['user', 'assistant']), content: z.string() });
export type AIMessage = z.output<typeof AIMessage>;
