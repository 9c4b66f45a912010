import { z } from 'zod';
import { defineAsk } from './define-ask.ts';

/** Whether a database or service can be reached with what somebody has typed in. Nothing is stored. */
export const datasourceTests = defineAsk({
  name: 'datasource.tests',
  question: z.discriminatedUnion('kind', [z.object({ kind: z.literal('url'), url: z.string() })]),
  answer: z.object({ reachable: z.literal(true) }),
  timeoutMs: 15_000,
  perLane: { user: 4 },
});
