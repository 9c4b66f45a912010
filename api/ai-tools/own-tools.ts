import { z } from 'zod';
import { ASK_USER, type OfferedTool } from '#shared/apps/ai/tool-calls.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { describeIssues } from '#shared/core/schema/issues.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import type { ToolResult } from '../tools/tool.ts';
import { proposals } from './proposals.ts';

const Step = z.object({
  id: z.string().min(1).max(64),
  title: z.string().min(1).max(300),
  status: z.enum(['pending', 'in_progress', 'completed', 'failed']).default('pending'),
});

const Plan = z.object({
  title: z.string().min(1).max(300),
  steps: z
    .array(Step)
    .min(2)
    .max(12)
    .refine((steps) => new Set(steps.map(({ id }) => id)).size === steps.length, 'two steps have the same id'),
});

const text = z.string().max(4_000);
const Question = z.object({
  kind: z.enum(['form', 'choice', 'confirm']),
  title: z.string().min(1).max(300),
  description: text.optional(),
  fields: z
    .array(
      z.object({
        name: z.string().min(1).max(64),
        label: text.optional(),
        type: z.string().max(32).optional(),
        required: z.boolean().optional(),
      }),
    )
    .max(30)
    .optional(),
  choices: z
    .array(z.object({ id: z.string().min(1).max(64), label: text }))
    .max(30)
    .optional(),
  targetTool: z.string().max(128).optional(),
  targetParams: z.record(z.string(), z.unknown()).optional(),
});

interface OwnTool {
  description: string;
  input: z.ZodType;
}

/** Tools of a chat that do nothing in the tenant: the client shows what they hold. */
const ownTools: Readonly<Record<string, OwnTool>> = {
  [ASK_USER]: {
    description:
      'Ask the user for something that only they know: a form, a choice or a yes. The answer is that of the user. It confirms nothing: a tool that changes something is confirmed when you call it.',
    input: Question,
  },
  createPlan: {
    description:
      'Show the user what you are going to do, in 2 to 12 steps. Use it before work of more than three calls.',
    input: Plan,
  },
  updatePlan: {
    description: 'Show how far a plan is: the whole plan, with the status of each step.',
    input: Plan,
  },
  ...proposals,
};

/** Characters of what a client is to show whole: a result that is longer is cut. */
const MAX_SHOWN = 30_000;

export function offerOwnTools(): OfferedTool[] {
  return Object.entries(ownTools).map(([name, { description, input }]) => ({
    name,
    description,
    inputSchema: z.toJSONSchema(input, { io: 'input' }) as JsonObject,
  }));
}

/** The fault of an input of one of these tools; undefined for other tools. */
export function checkOwnTool(name: string, input: unknown): ToolResult | undefined {
  const tool = Object.hasOwn(ownTools, name) ? ownTools[name] : undefined;
  if (!tool) return undefined;
  const parsed = parseValue(tool.input, input);
  const isTooLong = parsed.success && JSON.stringify(parsed.data).length > MAX_SHOWN;
  if (parsed.success && !isTooLong) return { status: 200, body: { success: true, ...(parsed.data as object) } };
  const message = parsed.success
    ? `It has more than ${MAX_SHOWN} characters: say less at once, for example by fewer steps`
    : describeIssues(parsed.issues);
  const error = { code: 'VALIDATION_ERROR', message };
  return { status: 400, body: { success: false, error } };
}
