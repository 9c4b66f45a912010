import { setTimeout as sleep } from 'node:timers/promises';
import { asData, dataRule } from '#shared/apps/ai/data.ts';
import { correction, MAX_FAULTS, objectIn, objectRule } from '#shared/apps/ai/objects.ts';
import type { OfferedTool } from '#shared/apps/ai/tool-calls.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { describeIssues, invalidField } from '#shared/core/schema/issues.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import { readFormSchema } from '#shared/workflow/form-schema.ts';
import type { ai } from '#shared/workflow/nodes/kinds/ai.ts';
import { asText, evaluateIn } from '#shared/workflow/templates/expressions.ts';
import { Filled, findTemplate } from '#shared/workflow/templates/templates.ts';
import { VARIABLES_ROOT } from '#shared/workflow/variables.ts';
import { askWithTools, describeNamed, type ToolMessage } from '../../ai/ask-with-tools.ts';
import type { Executor, NodeRun, Task } from '../executor.ts';

type Config = Task<typeof ai>['config'];

/** Time limit of one call. The reservation of the call in the budget of its tenant expires soon after (see `ai/calls.ts`). */
const MAX_CALL_MS = 300_000;
const MAX_ATTEMPTS = 3;
/** More than the context of most models. */
const MAX_PROMPT = 1_000_000;

export const runAI: Executor<typeof ai> = async ({ config, run, signal }, { ai, toolCalls }) => {
  const deadline = Date.now() + run.timeoutMs;
  const { outputSchema, maxOutputTokens, model, temperature } = config;
  const read = outputSchema ? reader(outputSchema) : asItIs;
  const instructions = instructionsOf(config, run);
  const messages: ToolMessage[] = [{ role: 'user', content: fill(config.prompt, run) }];
  const used = { inputTokens: 0, outputTokens: 0 };
  const { tenantID, caller } = run;
  const conversation = {
    ...{ run, names: config.tools, toolCalls, signal },
    ask: (history: readonly ToolMessage[], offered: readonly OfferedTool[]) =>
      whenFree({ deadline, signal }, () => {
        const limited = AbortSignal.any([signal, AbortSignal.timeout(MAX_CALL_MS)]);
        const request = {
          tenantID,
          caller,
          purpose: 'node',
          instructions,
          messages: history,
          maxOutputTokens,
        } as const;
        return ai.text({ ...request, tools: offered, model, temperature, signal: limited, maxRetries: 0 });
      }),
  };
  const tools = await describeNamed(conversation);
  let faults = '';
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const answer = await askWithTools(messages, tools, conversation);
    used.inputTokens += answer.inputTokens;
    used.outputTokens += answer.outputTokens;
    const found = read(answer.text);
    if (found.faults === undefined)
      return {
        output: { [config.outputVariable]: found.value, success: true, model: answer.model, ...used },
        exit: 'success',
      };
    faults = found.faults;
    messages.push(...correction(answer.text, `This is not of the form: ${faults}`));
  }
  throw new AppError('UPSTREAM_FAILED', `The language model gave ${MAX_ATTEMPTS} answers of another form. ${faults}`, {
    retry: false,
    details: { reason: 'invalid-answer' },
  });
};

function instructionsOf({ instructions, outputSchema }: Config, run: NodeRun): string {
  const parts = [
    fill(instructions, run),
    dataRule,
    ...(outputSchema ? [`${objectRule} It has this JSON Schema: ${JSON.stringify(outputSchema)}`] : []),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Fills the templates of a prompt. Values of a run may come from anyone, so each is marked as data. */
function fill(text: string, { scope, variables }: NodeRun): string {
  const roots = { ctx: scope, [VARIABLES_ROOT]: variables.values };
  const filled = new Filled();
  for (const part of findTemplate(text)?.parts ?? [text])
    if (typeof part === 'string') filled.add(part);
    else filled.insert(evaluateIn(part, roots), (value) => asData(part.source.trim(), asText(value)));
  if (filled.text.length > MAX_PROMPT)
    throw new AppError('PAYLOAD_TOO_LARGE', `A prompt with its values has at most ${MAX_PROMPT} characters`);
  return filled.text;
}

type Read = (text: string) => { value: Json; faults?: never } | { value?: never; faults: string };

const asItIs: Read = (text) => ({ value: text });

function reader(outputSchema: JsonObject): Read {
  const form = readFormSchema(outputSchema);
  if ('message' in form) throw invalidField(['outputSchema', ...form.path].join('.'), form.message);
  return (text) => {
    const object = objectIn(text);
    if (!object) return { faults: 'It is not one JSON object.' };
    const parsed = parseValue(form.schema, object);
    return parsed.success ? { value: object } : { faults: describeIssues(parsed.issues).slice(0, MAX_FAULTS) };
  };
}

/** Waits as long as the provider or the tenant's own limit ask for, if the node has the time. */
async function whenFree<T>(
  { deadline, signal }: { deadline: number; signal: AbortSignal },
  call: () => Promise<T>,
): Promise<T> {
  for (;;)
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'RATE_LIMITED') throw error;
      // Plus a random part, so that waiting calls are not all repeated at once.
      const ms = (error.retryAfter ?? 2) * 1_000 * (1 + Math.random() / 4);
      if (Date.now() + ms >= deadline) throw error;
      await sleep(ms, undefined, { signal });
    }
}
