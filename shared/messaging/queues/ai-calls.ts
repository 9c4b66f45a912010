import { z } from 'zod';
import { AIMessage } from '../../apps/ai/message.ts';
import { AISettings } from '../../apps/ai/providers.ts';
import { Caller } from '../../core/caller.ts';
import { defineRPC } from './define-rpc.ts';

const requester = { tenantID: z.uuid(), caller: Caller };

/** A call of a language model, with the tenant's configuration or the deployment's. Permissions have been checked by the API. */
export const aiCalls = defineRPC({
  name: 'ai.calls',
  request: z.discriminatedUnion('kind', [
    /** Tests a model with `settings`; null: with the stored settings. */
    z.object({ kind: z.literal('test'), ...requester, settings: AISettings.nullable() }),
    z.object({
      kind: z.literal('text'),
      ...requester,
      /** The purpose for which the tokens are counted. */
      purpose: z.enum(['query', 'workflow']),
      instructions: z.string(),
      messages: z.array(AIMessage).min(1),
      maxOutputTokens: z.int().positive(),
    }),
    /** Continues an answer of a chat up to the next tool calls of the model. The messages of the session and the answer itself are rows. */
    z.object({
      kind: z.literal('chat'),
      ...requester,
      answerID: z.uuid(),
      place: z.string().nullable(),
      step: z.int().optional(),
    }),
  ]),
  response: z.object({ text: z.string(), model: z.string(), inputTokens: z.int(), outputTokens: z.int() }),
  timeoutMs: 120_000,
  hasFewJobs: true,
  maxConcurrent: { tenant: 8 },
});
