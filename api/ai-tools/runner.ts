import { CHAT_CHANNEL, CHAT_TIMEOUT_MS, TOOLS_CHANNEL, ToolsSignal } from '#shared/apps/ai/chat.ts';
import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import { toAppError } from '#shared/core/errors.ts';
import { aiCalls } from '#shared/messaging/queues/ai-calls.ts';
import { readHold } from '#shared/process/restore-hold.ts';
import { failStep } from '../ai/chat.ts';
import type { ApiContext } from '../context/context.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { callTool } from './call.ts';
import {
  type ClaimedCall,
  type ClaimedTurn,
  claimCall,
  claimTurn,
  dropUnread,
  endCall,
  endTurn,
  offerStep,
  readFoundTools,
  renewCall,
  renewSteps,
  restartLost,
} from './chat-turns.ts';
import { identifyNow, offersOf } from './offers.ts';

/** Calls and turns at once in this process. Their permits are separate, so that slow calls delay no answer of a chat. */
const CALLS = 16;
const MAX_TURNS = 8;
const POLL_EVERY_MS = 1_000;
const RENEW_EVERY_MS = 2_000;
/** How long the calls under way may go on when the process ends. */
const END_TIMEOUT_MS = 3_000;

/** A call or a turn under way. The promise is wrapped: an async function that returned it bare would wait for its end. */
interface Begun {
  done: Promise<void>;
}

/** A step that this process has asked a worker for. */
interface Asked {
  step: number;
  withdraw: AbortController;
  /** Whether an earlier poll found that the step is over; the request is withdrawn at the second such poll. */
  isOver: boolean;
}

/**
 * Calls the tools that models ask for, and asks workers for the next steps of their answers. All state is in rows, so that another
 * process continues what a process that ends leaves behind.
 */
export function startToolCalls(context: ApiContext, registry: () => Promise<ToolRegistry>): AsyncDisposable {
  const {
    pool,
    logger,
    messaging: { producer, backplane },
  } = context;
  const stopped = new AbortController();
  const ending = new AbortController();
  const calls = new Set<Promise<void>>();
  const turns = new Set<Promise<void>>();
  const asked = new Map<string, Asked>();

  async function poll(): Promise<void> {
    // In a restored deployment nothing acts before it is resumed.
    if (await readHold(pool)) return;
    for (const id of await restartLost(pool)) notifyReaders(id);
    for (const id of await dropUnread(pool)) publish(TOOLS_CHANNEL, { unwanted: id });
    await withdrawAsked();
    await claimWhileFree(calls, CALLS, async (free) => {
      const call = await claimCall(pool, { free });
      return call && { done: run(call) };
    });
    await claimWhileFree(turns, MAX_TURNS, async () => {
      const turn = await claimTurn(pool);
      return turn && { done: continueTurn(turn) };
    });
  }

  /** Claims and starts what waits while permits are free. */
  async function claimWhileFree(
    running: Set<Promise<void>>,
    permits: number,
    claim: (free: number) => Promise<Begun | undefined>,
  ): Promise<void> {
    while (running.size < permits && !stopped.signal.aborted) {
      const begun = await claim(permits - running.size);
      if (!begun) break;
      track(running, begun.done);
    }
  }

  function track(running: Set<Promise<void>>, doing: Promise<void>): void {
    const done = doing
      .catch((error) =>
        logger.warn({ err: error }, 'a step of an answer is left; its claim ends, and a process takes it'),
      )
      .finally(() => {
        running.delete(done);
        polling.trigger();
      });
    running.add(done);
  }

  async function run(call: ClaimedCall): Promise<void> {
    const lost = new AbortController();
    const signal = AbortSignal.any([ending.signal, lost.signal]);
    const renew = async () => {
      if (!(await renewCall(pool, call))) lost.abort();
    };
    const every = { everyMs: RENEW_EVERY_MS, firstAfterMs: RENEW_EVERY_MS };
    await using _renewing = startPeriodicTask({ name: 'claim of a call of a tool', ...every, run: renew }, logger);
    const end = await callTool(call, { context, registry: await registry(), signal });
    // Then another process repeats the call, or its answer is not wanted.
    if (signal.aborted) return;
    await endCall(pool, call, end);
    if (call.sessionID) notifyReaders(call.turnID);
  }

  async function continueTurn(turn: ClaimedTurn): Promise<void> {
    const { answerID, tenantID, sessionID } = turn;
    if (turn.isAsked) {
      await endTurn(pool, turn);
      return notifyReaders(answerID);
    }
    const described = await registry();
    const allowed = await described.allowed(tenantID, await identifyNow(context, turn));
    const tools = offersOf(described, allowed, await readFoundTools(pool, sessionID));
    if (await offerStep(pool, turn, tools)) ask(turn);
  }

  function ask({ answerID, tenantID, caller, place, step }: ClaimedTurn): void {
    const withdraw = new AbortController();
    asked.set(answerID, { step, withdraw, isOver: false });
    producer
      .request(
        aiCalls,
        { kind: 'chat', tenantID, caller, answerID, place, step },
        { timeoutMs: CHAT_TIMEOUT_MS, limitKeys: { tenant: tenantID }, signal: withdraw.signal },
      )
      .catch((error) => failStep(pool, { answerID, step }, toAppError(error)))
      .catch((error) => logger.warn({ err: error }, 'a step that was not begun is not marked; it ends with its time'))
      .finally(() => {
        if (asked.get(answerID)?.withdraw === withdraw) asked.delete(answerID);
        notifyReaders(answerID);
      });
  }

  /** Withdraws requests for steps that are over: a worker that is gone never replies, and its request would stay open. */
  async function withdrawAsked(): Promise<void> {
    if (asked.size === 0) return;
    const wanted = new Map((await renewSteps(pool, [...asked.keys()])).map(({ id, step }) => [id, step]));
    for (const [id, one] of asked) {
      if (wanted.get(id) === one.step) continue;
      if (one.isOver) one.withdraw.abort();
      one.isOver = true;
    }
  }

  function notifyReaders(answerID: string): void {
    publish(CHAT_CHANNEL, { answerID });
  }

  function publish(channel: string, message: object): void {
    backplane.messages
      .publish(channel, message)
      .catch((error) => logger.debug({ err: error }, 'processes not woken; they poll by themselves'));
  }

  const polling = startPeriodicTask({ name: 'calls of tools', everyMs: POLL_EVERY_MS, run: poll }, logger);
  const unsubscribe = backplane.messages.subscribe(TOOLS_CHANNEL, (message) => {
    const { data } = ToolsSignal.safeParse(message);
    if (data?.unwanted !== undefined) asked.get(data.unwanted)?.withdraw.abort();
    else polling.trigger();
  });
  return {
    async [Symbol.asyncDispose]() {
      unsubscribe();
      stopped.abort();
      await polling[Symbol.asyncDispose]();
      const timeout = setTimeout(() => ending.abort(), END_TIMEOUT_MS);
      await Promise.all([...calls, ...turns]);
      clearTimeout(timeout);
      for (const { withdraw } of asked.values()) withdraw.abort();
    },
  };
}
