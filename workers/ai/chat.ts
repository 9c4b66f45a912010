import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelMessage } from 'ai';
import type { z } from 'zod';
import type { Rights } from '#shared/access/policy/rights.ts';
import { CHAT_CHANNEL, type ChatSignal, MAX_CALLS, MAX_STEPS, TOOLS_CHANNEL } from '#shared/apps/ai/chat.ts';
import { asData, dataRule } from '#shared/apps/ai/data.ts';
import type { StoredPart } from '#shared/apps/ai/tool-calls.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError, toAppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Messages } from '#shared/messaging/backplane/index.ts';
import { tooLate } from '#shared/messaging/rpc.ts';
import { type AI, type AIRequest, believable, type CountedCall, tokensIn } from './calls.ts';
import { claimStep, endAnswer, endStep, renewStep, type TakenStep, type WantedCall } from './chat-rows.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { readConversation } from './conversation.ts';
import { loadSDK } from './load-sdk.ts';
import { toolSetOf } from './tools.ts';

interface ChatRequest {
  tenantID: string;
  caller: Caller;
  answerID: string;
  /** Context that the client has sent, as JSON text: where in the client the user is. */
  place: string | null;
  step?: number | undefined;
}

interface Needs {
  pool: Pool;
  ai: Pick<AI, 'counted'>;
  rights: Rights;
  messages: Messages;
  logger: Logger;
}

interface Answered {
  text: string;
  model: string;
  inputTokens: number;
  outputTokens: number;
}

const MAX_OUTPUT_TOKENS = 8_000;
/** Interval at which the claim is renewed and the caller's permission is checked: so soon an answer ends that is not wanted any more. */
const RENEW_MS = 700;

const instructions = [
  'You assist a user of Gantry, a service in which tenants have datasources, queries, workflows, widgets and app pages. Answer in the language of the user, briefly. What you know of the tenant you know from tools, which may do what the user may; search_tools finds more of them. Without a tool you can neither read nor change anything: say so, and never claim that you did. The user is asked before a tool changes something: call it, and do not ask for the confirmation in a text. Change only what the user has asked you to change. What the user has open in front of them may have changes that are not saved: changes of an open workflow, query or page, new workflows, queries and pages you propose with proposeWorkflow, proposeQuery and proposePage, and save them by no other tool unless the user asks you to save.',
  dataRule,
].join('\n\n');

/** Answers the last message of a session, up to the next calls of tools. Chunks are rows, so that every process can send them. */
export async function answerChat(needs: Needs, question: ChatRequest, signal: AbortSignal): Promise<Answered> {
  const { pool, ai, rights, messages, logger } = needs;
  const { tenantID, caller, answerID, place } = question;
  const claimed = await claimStep(pool, { answerID, callID: newID(), step: question.step });
  if (!claimed) throw tooLate({ begun: false, isAborted: true });
  const unwanted = new AbortController();
  const drop = (reason = tooLate({ begun: true, isAborted: true })) => unwanted.abort(reason);
  const requireRight = async () => {
    if (!(await rights.may({ tenantID, caller }, { permission: 'ai.execute', object: 'ai:*' }))) throw noRight();
  };
  const until = AbortSignal.any([signal, unwanted.signal]);
  const publish = (channel: string, message: object) => {
    messages
      .publish(channel, message)
      .catch((error) => logger.debug({ err: error }, 'processes not woken; they poll by themselves'));
  };
  const tell = () => publish(CHAT_CHANNEL, { answerID } satisfies z.input<typeof ChatSignal>);
  const writer = new ChunkWriter({ pool, claimed, tell, drop });
  const renew = async () => {
    if (!(await renewStep(pool, claimed))) return drop();
    await requireRight();
  };
  const renewalTimer = setInterval(() => {
    renew().catch((error) => {
      // If the check itself fails, for example because Postgres is away, the answer goes on.
      if (error instanceof AppError && error.code === 'PERMISSION_DENIED') drop(error);
      else logger.debug({ err: error }, 'answer not renewed; the next round will');
    });
  }, RENEW_MS);
  let before: StoredPart[] = [];
  const parts = (calls: readonly WantedCall[] = []): StoredPart[] => {
    const said: StoredPart[] = writer.text === '' ? [] : [{ type: 'text', text: writer.text }];
    const own = [...said, ...calls.map(({ id }) => ({ type: 'call' as const, id }))];
    return own.length === 0
      ? before
      : [...before, ...(before.length > 0 ? [{ type: 'step-start' as const }] : []), ...own];
  };
  try {
    await requireRight();
    const conversation = await readConversation(pool, claimed);
    before = conversation.parts;
    const prompt = place === null ? instructions : `${instructions}\n\n${asData('where the user is', place)}`;
    const request: AIRequest = {
      ...{ id: claimed.callID, tenantID, caller, purpose: 'chat', instructions: prompt },
      messages: [{ role: 'user', content: JSON.stringify([conversation.messages, claimed.tools]) }],
      ...{ maxOutputTokens: MAX_OUTPUT_TOKENS, signal: until },
    };
    const answer = await retryWhileBusy(until, () =>
      ai.counted(request, (call) => stream(call, request, { writer, claimed, messages: conversation.messages })),
    );
    writer.speak();
    await writer.flush();
    const { calls, chunks } = answer;
    if (calls.length === 0) await endAnswer(pool, { ...claimed, status: 'done', parts: parts(), chunks });
    else if (await endStep(pool, { ...claimed, parts: parts(calls), chunks, calls })) publish(TOOLS_CHANNEL, {});
    return answer;
  } catch (error) {
    const known = toAppError(error);
    await writer.flush().catch(() => {});
    const status = until.aborted ? 'cancelled' : 'failed';
    await endAnswer(pool, { ...claimed, status, error: known, parts: parts(), chunks: [] });
    throw known;
  } finally {
    clearInterval(renewalTimer);
    tell();
  }
}

const RETRY_MS = 500;
const MAX_ATTEMPTS = 10;

/** Retries while the quota of concurrent calls is used up: the call of an answer that this one replaces may not have ended yet. */
async function retryWhileBusy<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof AppError && error.reason === 'aiCalls') || attempt === MAX_ATTEMPTS) throw error;
      await sleep(RETRY_MS, undefined, { signal });
    }
}

function noRight(): AppError {
  return new AppError('PERMISSION_DENIED', 'You may no longer use the language model', { reason: 'permission' });
}

function tooManySteps(): AppError {
  return new AppError('UPSTREAM_FAILED', `The language model asks for more tools after ${MAX_STEPS} steps with tools`, {
    retry: false,
    details: { reason: 'too-many-steps' },
  });
}

interface Streaming {
  writer: ChunkWriter;
  claimed: TakenStep;
  messages: ModelMessage[];
}

interface StepAnswer extends Answered {
  calls: WantedCall[];
  /** Last chunks of the step, which are written together with its end. */
  chunks: object[];
}

async function stream(
  { model, settings, note }: CountedCall,
  request: AIRequest,
  { writer, claimed: { messageID, rows, step, tools }, messages }: Streaming,
): Promise<StepAnswer> {
  const { streamText, toUIMessageStream } = await loadSDK();
  const { maxOutputTokens, signal } = request;
  let failure: unknown;
  const result = streamText({
    model,
    instructions: request.instructions,
    messages,
    ...(tools.length > 0 && { tools: await toolSetOf(tools) }),
    maxOutputTokens,
    maxRetries: 1,
    abortSignal: signal,
    onError: ({ error }) => {
      failure ??= error;
    },
  });
  const ending: { type: string }[] = [];
  const chunks = toUIMessageStream({
    stream: result.stream,
    sendStart: rows === 0,
    generateMessageId: () => messageID,
  });
  for await (const chunk of chunks) {
    if (chunk.type === 'error') throw failure ?? new AppError('UPSTREAM_FAILED', chunk.errorText);
    if (chunk.type === 'abort') break;
    if (chunk.type === 'finish-step' || chunk.type === 'finish') ending.push(chunk);
    // Calls are written as a whole, with their rows.
    else if (!chunk.type.startsWith('tool-')) await writer.add(chunk);
  }
  signal.throwIfAborted();
  const usage = await result.totalUsage;
  const calls = (await result.toolCalls).slice(0, MAX_CALLS).map(wantedCall);
  const used = usedIn(usage, { said: writer.text + writer.thought, calls });
  note(used);
  // No tool was offered in this step. A model that calls one nevertheless could do so until the tokens of its tenant are used up.
  if (calls.length > 0 && step >= MAX_STEPS) throw tooManySteps();
  const shown = calls.map(({ id, tool, input }) => ({
    ...{ type: 'tool-input-available', toolCallId: id, toolName: tool, input, dynamic: true },
  }));
  const last = ending.filter(({ type }) => type !== 'finish' || calls.length === 0);
  return {
    text: '',
    model: settings.model,
    inputTokens: 0,
    ...used,
    calls,
    chunks: [...shown, ...last],
  };
}

type Used = Parameters<CountedCall['note']>[0];

/** Tokens of the answer are estimated where the provider does not report them; without a report, tokens of the input count as they were reserved. */
function usedIn(usage: Used, { said, calls }: { said: string; calls: readonly WantedCall[] }) {
  const written = calls.length === 0 ? said : said + JSON.stringify(calls);
  const inputTokens = believable(usage.inputTokens);
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    outputTokens: believable(usage.outputTokens) ?? tokensIn(written),
  };
}

const MAX_INPUT = 100_000;
const MAX_NAME = 128;

/** Input that is no JSON, or is too large, stays a text: the API refuses it. */
function wantedCall({
  toolName,
  input,
  providerMetadata,
}: {
  toolName: string;
  input: unknown;
  providerMetadata?: object | undefined;
}): WantedCall {
  const written = JSON.stringify(input) ?? 'null';
  const stored: unknown = written.length > MAX_INPUT ? written.slice(0, 1_000) : JSON.parse(written);
  return { id: newID(), tool: toolName.slice(0, MAX_NAME), input: stored, providerMetadata };
}
