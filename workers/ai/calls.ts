import { setTimeout as sleep } from 'node:timers/promises';
import type { LanguageModel, ModelMessage } from 'ai';
import type { AIMessage } from '#shared/apps/ai/message.ts';
import type { AISettings } from '#shared/apps/ai/providers.ts';
import type { OfferedTool } from '#shared/apps/ai/tool-calls.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError, toAppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { type AIEnd, type AIPurpose, reserveCall, settleCall } from '#shared/tenants/ai-usage.ts';
import type { Outbound } from '../outbound/gate.ts';
import { createStreamingFetch } from '../outbound/stream.ts';
import { explainCall } from './explain.ts';
import { loadSDK } from './load-sdk.ts';
import { openModel } from './open-model.ts';
import { readSettings } from './settings.ts';
import { toolSetOf } from './tools.ts';

/** Calls of language models, within the budgets of their tenants. */
export interface AI extends AsyncDisposable {
  /** Asks a model for one answer, as a text. */
  text(request: AIRequest): Promise<AIAnswer>;
  /** Does the work with a model, whose use is reserved before and settled after. */
  counted<T>(request: AIRequest, work: (call: CountedCall) => Promise<T>): Promise<T>;
}

export interface AIRequest {
  /** Id of the call in the budget; absent: a new one. */
  id?: string;
  tenantID: string;
  caller: Caller;
  purpose: AIPurpose;
  instructions: string;
  messages: readonly (AIMessage | ModelMessage)[];
  /** Tools that the model may call; default: none. */
  tools?: readonly OfferedTool[];
  maxOutputTokens: number;
  signal: AbortSignal;
  /** Settings that are used instead of the stored ones. */
  settings?: AISettings | null;
  /** Model that is used instead of the one in the stored settings. */
  model?: string | undefined;
  temperature?: number | undefined;
  /** Default: 1. */
  maxRetries?: number;
}

interface AIAnswer {
  text: string;
  /** Tools that the model wants to be called. */
  calls: { toolName: string; input: unknown; providerMetadata?: object | undefined }[];
  model: string;
  inputTokens: number;
  outputTokens: number;
}

export interface CountedCall {
  model: LanguageModel;
  settings: AISettings;
  /** Notes the tokens that were used, as far as they are known; undefined leaves the number noted before. */
  note(used: { inputTokens?: number | undefined; outputTokens?: number | undefined }): void;
}

interface Needs {
  pool: Pool;
  secrets: KeyRing;
  workspace: AISettings | null;
  outbound: Outbound;
  logger: Logger;
}

/** Time after which a reservation expires: longer than any call, so only that of a call whose worker has died. */
const MAX_CALL_MS = 330_000;

export function createAI({ pool, secrets, workspace, outbound, logger }: Needs): AI {
  const fetch = createStreamingFetch(outbound);

  async function counted<T>(request: AIRequest, work: (call: CountedCall) => Promise<T>): Promise<T> {
    const { tenantID, caller, purpose, signal } = request;
    const settings = request.settings ?? (await readSettings({ pool, secrets, workspace }, tenantID, request.model));
    const { id = newID() } = request;
    const used = { inputTokens: tokensOf(request), outputTokens: request.maxOutputTokens };
    const tokens = used.inputTokens + used.outputTokens;
    await reserveCall(pool, { id, tenantID, caller, purpose, model: settings.model, tokens, timeoutMs: MAX_CALL_MS });
    let outcome = 'answered';
    try {
      const model = await openModel(settings, fetch);
      const note: CountedCall['note'] = ({ inputTokens, outputTokens }) => {
        used.inputTokens = believable(inputTokens) ?? used.inputTokens;
        used.outputTokens = believable(outputTokens) ?? used.outputTokens;
      };
      return await work({ model, settings, note });
    } catch (error) {
      const known = await explainCall(error, settings, signal);
      // A provider that refuses a request counts no tokens. Otherwise it is unknown how many it has counted.
      if (known instanceof AppError && isRefusal(known)) Object.assign(used, { inputTokens: 0, outputTokens: 0 });
      outcome = toAppError(known).code;
      throw known;
    } finally {
      await settle({ id, ...used, outcome });
    }
  }

  /** Writes how many tokens a call has used. If that fails, the call counts with the reserved tokens. */
  async function settle(end: AIEnd): Promise<void> {
    for (let attempt = 1; ; attempt += 1)
      try {
        return await settleCall(pool, end);
      } catch (error) {
        if (attempt === SETTLE_ATTEMPTS) return logger.warn({ err: error, callID: end.id }, 'AI call not settled');
        await sleep(attempt * 250);
      }
  }

  return {
    counted,
    text: (request) =>
      counted(request, async ({ model, settings, note }) => {
        const { generateText } = await loadSDK();
        const { instructions, messages, maxOutputTokens, signal, maxRetries = 1, temperature, tools = [] } = request;
        const { text, usage, toolCalls } = await generateText({
          model,
          instructions,
          // Safe: an AIMessage is a ModelMessage whose content is a text.
          messages: messages as ModelMessage[],
          ...(tools.length > 0 && { tools: await toolSetOf(tools) }),
          maxOutputTokens,
          maxRetries,
          ...(temperature !== undefined && { temperature }),
          abortSignal: signal,
        });
        const inputTokens = believable(usage.inputTokens) ?? tokensOf(request);
        const outputTokens = believable(usage.outputTokens) ?? tokensIn(text);
        note({ inputTokens, outputTokens });
        return { text, calls: toolCalls, model: settings.model, inputTokens, outputTokens };
      }),
    [Symbol.asyncDispose]: () => fetch[Symbol.asyncDispose](),
  };
}

const SETTLE_ATTEMPTS = 4;

function tokensOf({ instructions, messages, tools = [] }: AIRequest): number {
  const texts = [instructions, JSON.stringify(tools)];
  for (const { content } of messages) texts.push(typeof content === 'string' ? content : JSON.stringify(content));
  return texts.reduce((sum, text) => sum + tokensIn(text), 0);
}

/** A larger number of tokens is not believed: it is more than the context of any model. */
const MAX_TOKENS = 100_000_000;

/** Token count of a provider, if it is plausible. A provider of the tenant may report anything: a negative count would add to the budget. */
export function believable(tokens: number | undefined): number | undefined {
  return Number.isInteger(tokens) && tokens !== undefined && tokens >= 0 && tokens <= MAX_TOKENS ? tokens : undefined;
}

/** An estimate that is rather too high: models cut most languages into pieces of four bytes or more. */
export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 3) + 8;
}

function isRefusal({ details }: AppError): boolean {
  const reason = typeof details === 'object' && details !== null ? Reflect.get(details, 'reason') : undefined;
  return refusals.has(reason);
}

const refusals: ReadonlySet<unknown> = new Set([
  'authentication',
  'not-found',
  'not-allowed',
  'provider',
  'refused',
  'unreachable',
  'tls',
]);
