import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { runCooperatively } from '../concurrency/cooperative.ts';
import { createKeyedSemaphores, IN_ORDER } from '../concurrency/semaphore.ts';
import { currentReservation } from '../concurrency/work-context.ts';
import { writing } from '../concurrency/write-json.ts';
import { Counter, createTenantLabel, type TenantLabel } from '../core/counter.ts';
import { AppError, reviveError, toAppError, WireError } from '../core/errors.ts';
import { newID } from '../core/ids.ts';
import { type Json, OwnJson, ofParsedJSON } from '../core/json.ts';
import type { KeyRing } from '../core/key-ring.ts';
import type { Logger } from '../core/logger.ts';
import type { Pool } from '../db/pool.ts';
import type { Backplane, Messages } from './backplane/index.ts';
import type { Producer } from './producer.ts';
import { RPC_CANCEL, RPCReply, rpcContext } from './queues/define-rpc.ts';
import type { AnyRPC } from './queues/index.ts';
import { openMessage, sealMessage } from './sealed-messages.ts';

export interface RPCOptions {
  timeoutMs?: number;
  /** Aborted when the client no longer waits for the response. */
  signal?: AbortSignal;
  /** The key of each limit of the definition: `{ tenant: tenantID }`. The time limit includes the wait for a permit. */
  limitKeys?: Readonly<Record<string, string>>;
}

/** Requests to a worker, for which the caller waits (remote procedure calls over a queue). */
export interface RPC extends AsyncDisposable {
  /** Returns the response, or throws the worker's error; UPSTREAM_TIMEOUT if no response came in time. Never sent twice. */
  request<D extends AnyRPC>(
    definition: D,
    request: z.input<D['request']>,
    options?: RPCOptions,
  ): Promise<z.output<D['response']>>;
  /** Totals so far, for metrics. */
  readonly stats: RPCStats;
}

export interface RPCStats {
  /** Ended requests by queue, and `answered` or the code of the error. */
  readonly ended: Counter<'queue' | 'outcome'>;
  readonly seconds: Counter<'queue'>;
  /** Requests under way, by queue. */
  readonly waiting: ReadonlyMap<string, number>;
}

/** A worker's reply, sealed. */
export const RPCOutcome = z.union([z.object({ error: WireError }), z.object({ answer: OwnJson })]);

/** A reply as announced on the channel: the sealed reply itself, or only its length if it is in the table `ask_reply`. */
type Reply = Omit<z.output<typeof RPCReply>, 'askID'>;

/** Longer than for a job that has a row: the sweep does not find a request that was not enqueued. */
const ENQUEUE_TIMEOUT_MS = 2_000;

interface Needs {
  backplane: Backplane;
  producer: Producer;
  pool: Pool;
  secrets: KeyRing;
  logger: Logger;
  tenant?: TenantLabel;
}

export function createRPC({ backplane, producer, pool, secrets, logger, tenant = createTenantLabel() }: Needs): RPC {
  // A channel's name is at most 63 bytes long on Postgres, the deployment's prefix included.
  const replyTo = `asks.${randomBytes(8).toString('hex')}`;
  const waiting = new Map<string, (reply: Reply) => void>();
  const semaphores = createKeyedSemaphores();
  const channel = openChannel(backplane.messages, replyTo, (message) => {
    const { askID, ...reply } = RPCReply.parse(message);
    waiting.get(askID)?.(reply);
  });

  const ended = new Counter<'queue' | 'outcome'>();
  const seconds = new Counter<'queue'>();
  const underWay = new Map<string, number>();

  async function countedRequest(definition: AnyRPC, request: unknown, options: RPCOptions): Promise<unknown> {
    const { name: queue } = definition;
    const labels = { queue, ...tenant.of(options.limitKeys?.tenant) };
    const began = performance.now();
    underWay.set(queue, (underWay.get(queue) ?? 0) + 1);
    let outcome = 'answered';
    try {
      return await send(definition, request, options);
    } catch (error) {
      outcome = toAppError(error).code;
      throw error;
    } finally {
      underWay.set(queue, (underWay.get(queue) ?? 1) - 1);
      ended.add({ ...labels, outcome });
      seconds.add(labels, (performance.now() - began) / 1000);
    }
  }

  /** Stage by stage: acquirePermits, sendRequest, awaitReply, openReply; giveUp when there is no reply. */
  async function send(definition: AnyRPC, request: unknown, options: RPCOptions): Promise<unknown> {
    const { timeoutMs = definition.timeoutMs, signal } = options;
    const deadline = Date.now() + timeoutMs;
    using _permits = await acquirePermits(definition, options, timeoutMs);
    if (signal?.aborted) throw tooLate({ begun: false, isAborted: true });
    await channel.ready();
    const askID = newID();
    using replies = expectReply(askID);
    const tenantID = options.limitKeys?.tenant ?? options.limitKeys?.user;
    await sendRequest(definition, request, { askID, deadline, tenantID });
    const sealed = await awaitReply(askID, replies.first, { deadline, signal });
    if (sealed !== undefined) return definition.response.parse(await openReply(askID, sealed));
    throw await giveUp(definition, askID, signal);
  }

  /** Acquires a permit of every limit of the definition, in the same order for all requests. The stack releases them. */
  async function acquirePermits(
    definition: AnyRPC,
    { signal, limitKeys = {} }: RPCOptions,
    timeoutMs: number,
  ): Promise<DisposableStack> {
    // A request that got its permits later than this would be begun and then broken off.
    const timeout = AbortSignal.timeout(Math.ceil(timeoutMs - 2 * replyMarginMs(timeoutMs)));
    const giveUpSignal = signal ? AbortSignal.any([signal, timeout]) : timeout;
    using permits = new DisposableStack();
    for (const [kind, max] of Object.entries<number>(definition.maxConcurrent)) {
      if (limitKeys[kind] === undefined) continue;
      const semaphore = { key: `${definition.name} ${kind} ${limitKeys[kind]}`, permits: max };
      const release = await semaphores.acquirePermit(semaphore, IN_ORDER, giveUpSignal);
      if (!release) throw tooLate({ begun: false, isAborted: signal?.aborted ?? false });
      permits.defer(release);
    }
    return permits.move();
  }

  /** Listens for the reply to a request that is about to be sent. */
  function expectReply(askID: string): { first: Promise<Reply> } & Disposable {
    const { promise: first, resolve } = Promise.withResolvers<Reply>();
    waiting.set(askID, resolve);
    return { first, [Symbol.dispose]: () => void waiting.delete(askID) };
  }

  async function sendRequest(
    definition: AnyRPC,
    request: unknown,
    sent: { askID: string; deadline: number; tenantID: string | undefined },
  ): Promise<void> {
    const { askID } = sent;
    // Our own code has made it, of values that are JSON.
    const parsed = ofParsedJSON(() => definition.request.parse(request));
    // Safe: it was parsed with the definition's own schema.
    const isShort = definition.isShort(parsed as never);
    const text = await runCooperatively(writing(parsed as Json));
    const sealed = await sealMessage(secrets, text, rpcContext(askID, 'question'));
    try {
      await producer.enqueue(definition, [{ ...sent, replyTo, sealed, isShort }], { timeoutMs: ENQUEUE_TIMEOUT_MS });
    } catch (error) {
      // A queue that is slow to accept a job may have accepted it nevertheless.
      if (await withdrawRequest(definition, askID)) throw error;
      throw tooLate({ begun: true });
    }
  }

  /** The sealed reply, or undefined when none came before the deadline or the caller's abort. */
  async function awaitReply(
    askID: string,
    first: Promise<Reply>,
    { deadline, signal }: { deadline: number; signal: AbortSignal | undefined },
  ): Promise<string | undefined> {
    const message = await firstOf(first, Math.max(deadline - Date.now(), 0), signal);
    // A message may be lost; a reply in the table is not.
    return message?.sealed ?? (await takeStoredReply(askID, message?.bytes));
  }

  async function takeStoredReply(askID: string, bytes: number | undefined): Promise<string | undefined> {
    // Twice the length: for the text of the reply and for the response to the client.
    await currentReservation()?.reserve(2 * (bytes ?? (await lengthOfReply(askID))));
    const { rows } = await pool.query<{ sealed: string }>('delete from ask_reply where ask_id = $1 returning sealed', [
      askID,
    ]);
    return rows[0]?.sealed;
  }

  async function lengthOfReply(askID: string): Promise<number> {
    const { rows } = await pool.query<{ bytes: number }>(
      'select octet_length(sealed) as bytes from ask_reply where ask_id = $1',
      [askID],
    );
    return rows[0]?.bytes ?? 0;
  }

  /** The response; throws the error that the worker sent instead of one. */
  async function openReply(askID: string, sealed: string): Promise<unknown> {
    const outcome = RPCOutcome.parse(await openMessage(secrets, sealed, rpcContext(askID, 'answer')));
    if ('error' in outcome) throw reviveError(outcome.error);
    return outcome.answer;
  }

  /** Withdraws the request, or tells its worker to stop. The error says whether a worker has begun. */
  async function giveUp(definition: AnyRPC, askID: string, signal: AbortSignal | undefined): Promise<AppError> {
    const begun = !(await withdrawRequest(definition, askID));
    // The message may be lost. The worker then stops its work, or stops waiting for a permit, at the deadline.
    await backplane.messages.publish(RPC_CANCEL, { askID }).catch(() => undefined);
    return tooLate({ begun, isAborted: signal?.aborted ?? false });
  }

  /** Claims the request in place of a worker. True if no worker had claimed it; from then on none can. */
  async function withdrawRequest(definition: AnyRPC, askID: string): Promise<boolean> {
    backplane
      .queue(definition.name)
      .remove(askID)
      .catch((error) =>
        logger.debug({ err: error, askID }, 'an abandoned request stays in the queue until its deadline'),
      );
    try {
      return await claimRequest(pool, askID);
    } catch (error) {
      logger.warn({ err: error, askID }, 'a request could not be withdrawn');
      return false;
    }
  }

  return {
    // The definition pairs request and response; parsing with its own schemas keeps the pair.
    request: (definition, request, options = {}) => countedRequest(definition, request, options) as never,
    stats: { ended, seconds, waiting: underWay },
    async [Symbol.asyncDispose]() {
      channel.close();
    },
  };
}

/** Opens a subscription that knows when it is active, since a reply published before would be lost. To find out, it sends itself messages. */
function openChannel(messages: Messages, name: string, listener: (message: unknown) => void) {
  const { promise: heard, resolve } = Promise.withResolvers<void>();
  let isHeard = false;
  const unsubscribe = messages.subscribe(name, (message) => {
    if (message !== HELLO) return listener(message);
    isHeard = true;
    clearInterval(timer);
    resolve();
  });
  const greet = () => void messages.publish(name, HELLO).catch(() => undefined);
  const timer = setInterval(greet, 100).unref();
  greet();
  return {
    async ready(): Promise<void> {
      if (!isHeard) await Promise.race([heard, sleep(READY_TIMEOUT_MS, undefined, { ref: false })]);
    },
    close() {
      clearInterval(timer);
      unsubscribe();
    },
  };
}

const HELLO = 'hello';
const READY_TIMEOUT_MS = 2_000;

/** True for the first claim of a request, false for all later ones: of its caller or of a worker. */
export async function claimRequest(pool: Pool, askID: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into ask_claim (ask_id, expires_at) values ($1, now() + interval '1 hour') on conflict do nothing`,
    [askID],
  );
  return rowCount === 1;
}

/** The reply, or undefined when the time is up or the signal aborts. */
async function firstOf<T>(
  reply: Promise<T>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  const { promise: ended, resolve } = Promise.withResolvers<undefined>();
  const stop = () => resolve(undefined);
  const timer = setTimeout(stop, timeoutMs);
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  try {
    return await Promise.race([reply, ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** A worker ends this much before the deadline: the caller does not hear a later reply. */
export function replyMarginMs(leftMs: number): number {
  return Math.floor(Math.min(250, leftMs / 4));
}

/** The error of a timeout: the same, whether the caller or the worker detects it first. */
export function tooLate({ begun, isAborted = false }: { begun: boolean; isAborted?: boolean }): AppError {
  const what = begun
    ? 'A worker has begun and did not answer in time: the outcome is unknown'
    : 'No worker was free to take this in time, and nothing was done';
  return new AppError('UPSTREAM_TIMEOUT', isAborted ? `The client went away. ${what}` : what, { details: { begun } });
}
