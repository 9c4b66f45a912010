import { z } from 'zod';
import { AIMessage } from '../../apps/ai/message.ts';
import { AISettings } from '../../apps/ai/providers.ts';
import { Caller } from '../../core/caller.ts';
import { defineRPC } from './define-rpc.ts';

const asked = { tenantID: z.uuid(), caller: Caller };

/** A call of a language model, with the tenant's configuration or the deployment's. Permissions have been checked by the API. */
export const aiCalls = defineRPC({
  name: 'ai.calls',
  request: z.discriminatedUnion('kind', [
    /** With the stored settings, or with those of the request. */
    z.object({ kind: z.literal('test'), ...asked, settings: AISettings.nullable() }),
    z.object({
      kind: z.literal('text'),
      ...asked,
      /** The purpose for which the tokens are counted. */
      purpose: z.enum(['query', 'workflow']),
      instructions: z.string(),
      messages: z.array(AIMessage).min(1),
      maxOutputTokens: z.int().positive(),
    }),
    /** Answers a session up to the next calls of tools; what it is to be answered, and the answer, are rows. */
    z.object({
      kind: z.literal('chat'),
      ...asked,
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
