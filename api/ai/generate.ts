import { dataRule } from '#shared/apps/ai/data.ts';
import type { AIMessage } from '#shared/apps/ai/message.ts';
import { correction, MAX_FAULTS, objectIn, objectRule } from '#shared/apps/ai/objects.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { aiCalls } from '#shared/messaging/queues/ai-calls.ts';
import type { RPC } from '#shared/messaging/rpc.ts';

export type Checked<T> = { value: T; faults?: never } | { value?: never; faults: string };

interface Generation<T> {
  tenantID: string;
  caller: Caller;
  signal: AbortSignal;
  producer: Pick<RPC, 'request'>;
  purpose: 'query' | 'workflow';
  instructions: string;
  prompt: string;
  /** Checks the object, or describes its faults for the model to read. */
  check(object: JsonObject): Promise<Checked<T>>;
}

/** Attempts of a model. A model that repeats faults after two replies that named them would repeat them again. */
const MAX_ATTEMPTS = 3;
const MAX_OUTPUT_TOKENS = 8_000;

const form = `${objectRule} What the user wants and cannot be done is an object {"refused": "why"}.`;

/** Asks a model for an object until it passes the checks. Its answer is never run. */
export async function generateChecked<T>(generation: Generation<T>): Promise<T> {
  const { tenantID, caller, signal, producer, purpose, prompt, check } = generation;
  const instructions = [generation.instructions, dataRule, form].join('\n\n');
  const messages: AIMessage[] = [{ role: 'user', content: prompt }];
  let faults = '';
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const asked = { tenantID, caller, purpose, instructions, messages, maxOutputTokens: MAX_OUTPUT_TOKENS };
    const { text } = await producer.request(
      aiCalls,
      { kind: 'text', ...asked },
      { signal, limitKeys: { tenant: tenantID } },
    );
    const object = objectIn(text);
    if (typeof object?.refused === 'string')
      throw new AppError('VALIDATION_ERROR', `aiPrompt: the model cannot do this: ${object.refused}`);
    const checked = object ? await check(object) : { faults: 'It is not one JSON object.' };
    if (checked.faults === undefined) return checked.value;
    faults = checked.faults.slice(0, MAX_FAULTS);
    messages.push(...correction(text, `This cannot be saved: ${faults}`));
  }
  throw new AppError(
    'UPSTREAM_FAILED',
    `The language model gave ${MAX_ATTEMPTS} answers that cannot be saved. The last one: ${faults}`,
    { retry: false, details: { reason: 'invalid-answer' } },
  );
}

/** The assumptions that an object names. */
export function assumptionsIn({ assumptions }: JsonObject): string[] {
  return sentencesIn(assumptions);
}

/** The texts of a list that a model has written. */
export function sentencesIn(value: unknown): string[] {
  const listed: unknown[] = Array.isArray(value) ? value : [];
  return listed.filter((one) => typeof one === 'string').slice(0, 50);
}
