import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Backplane, Messages } from './backplane/index.ts';
import type { KeyRing } from './crypto.ts';
import type { Pool } from './db/pool.ts';
import { AppError, reviveError, WireError } from './errors.ts';
import { newID } from './ids.ts';
import { OwnJson } from './json.ts';
import { createLanes, IN_ORDER } from './lanes.ts';
import type { Logger } from './logger.ts';
import type { Producer } from './producer.ts';
import { ASK_CANCEL, AskReply, askContext } from './queues/define-ask.ts';
import type { AnyAsk } from './queues/index.ts';

export interface AskOptions {
  timeoutMs?: number;
  /** Aborted when nobody waits for the answer any more. */
  signal?: AbortSignal;
  /** Whose question it is, by the lanes its definition has: `{ tenant: tenantID }`. The time limit includes the wait for a place. */
  lanes?: Readonly<Record<string, string>>;
}

/** Questions to a worker, answered while the asker waits. */
export interface Asking extends AsyncDisposable {
  /** The answer, or the error that the worker threw; UPSTREAM_TIMEOUT when none came in time. Never asked twice. */
  ask<D extends AnyAsk>(
    definition: D,
    question: z.input<D['question']>,
    options?: AskOptions,
  ): Promise<z.output<D['answer']>>;
}

/** What a worker sends back, sealed. */
export const Outcome = z.union([z.object({ error: WireError }), z.object({ answer: OwnJson })]);

/** Nothing brings a question back that was not handed over, so it is given longer than a job that has a row. */
const ENQUEUE_PATIENCE_MS = 2_000;

interface Waits {
  /** Milliseconds since 1970. */
  deadline: number;
  signal: AbortSignal | undefined;
}

interface Needs {
  backplane: Backplane;
  producer: Producer;
  pool: Pool;
  secrets: KeyRing;
  logger: Logger;
}

export function createAsking({ backplane, producer, pool, secrets, logger }: Needs): Asking {
  // A channel's name is at most 63 bytes long on Postgres, the deployment's prefix included.
  const replyTo = `asks.${randomBytes(8).toString('hex')}`;
  const waiting = new Map<string, (sealed: string | null) => void>();
  const lanes = createLanes();
  const channel = openChannel(backplane.messages, replyTo, (message) => {
    const { askID, sealed } = AskReply.parse(message);
    waiting.get(askID)?.(sealed ?? null);
  });

  /** In every lane of the definition in turn, the same order for all. */
  async function inLanes<T>(definition: AnyAsk, options: AskOptions, work: (waits: Waits) => Promise<T>): Promise<T> {
    const { timeoutMs = definition.timeoutMs, signal, lanes: whose = {} } = options;
    const deadline = Date.now() + timeoutMs;
    // Who had a place later than this would be begun and broken off.
    const patience = AbortSignal.timeout(Math.ceil(timeoutMs - 2 * wayBackMs(timeoutMs)));
    const until = signal ? AbortSignal.any([signal, patience]) : patience;
    using places = new DisposableStack();
    for (const [kind, most] of Object.entries<number>(definition.perLane)) {
      if (whose[kind] === undefined) continue;
      const lane = { name: `${definition.name} ${kind} ${whose[kind]}`, places: most };
      const leave = await lanes.enter(lane, IN_ORDER, until);
      if (!leave) throw tooLate({ begun: false, gone: signal?.aborted ?? false });
      places.defer(leave);
    }
    return await work({ deadline, signal });
  }

  async function ask(definition: AnyAsk, question: unknown, { deadline, signal }: Waits): Promise<unknown> {
    if (signal?.aborted) throw tooLate({ begun: false, gone: true });
    await channel.ready();
    const askID = newID();
    const sealed = secrets.seal(JSON.stringify(definition.question.parse(question)), askContext(askID, 'question'));
    const job = { askID, replyTo, deadline, sealed };
    const reply = new Promise<string | null>((resolve) => waiting.set(askID, resolve));
    try {
      await hand(definition, job);
      const first = await firstOf(reply, Math.max(deadline - Date.now(), 0), signal);
      // A message may be lost; what is in the table is not.
      const outcome = typeof first === 'string' ? first : await takeReply(askID);
      if (outcome !== undefined) return definition.answer.parse(readOutcome(askID, outcome));
    } finally {
      waiting.delete(askID);
    }
    const begun = !(await withdraw(definition, askID));
    // Whoever is at it may stop; that it hears of this is not certain, and it has the deadline.
    if (begun) await backplane.messages.publish(ASK_CANCEL, { askID }).catch(() => undefined);
    throw tooLate({ begun, gone: signal?.aborted ?? false });
  }

  /** A queue that is slow to take a job may have taken it all the same. */
  async function hand(definition: AnyAsk, job: z.input<AnyAsk['payload']>): Promise<void> {
    try {
      await producer.enqueue(definition, [job], { patienceMs: ENQUEUE_PATIENCE_MS });
    } catch (error) {
      if (await withdraw(definition, job.askID)) throw error;
      throw tooLate({ begun: true });
    }
  }

  async function takeReply(askID: string): Promise<string | undefined> {
    const { rows } = await pool.query<{ sealed: string }>('delete from ask_reply where ask_id = $1 returning sealed', [
      askID,
    ]);
    return rows[0]?.sealed;
  }

  function readOutcome(askID: string, sealed: string): unknown {
    const outcome = Outcome.parse(JSON.parse(secrets.open(sealed, askContext(askID, 'answer'))));
    if ('error' in outcome) throw reviveError(outcome.error);
    return outcome.answer;
  }

  /** Claims the question itself: true when no worker had, and then none ever will. */
  async function withdraw(definition: AnyAsk, askID: string): Promise<boolean> {
    backplane
      .queue(definition.name)
      .remove(askID)
      .catch((error) => logger.debug({ err: error, askID }, 'a question nobody waits for is left to its deadline'));
    try {
      return await claimAsk(pool, askID);
    } catch (error) {
      logger.warn({ err: error, askID }, 'a question could not be withdrawn');
      return false;
    }
  }

  return {
    // The definition pairs question and answer; parsing with its own schemas keeps the pair.
    ask: (definition, question, options = {}) =>
      inLanes(definition, options, (waits) => ask(definition, question, waits)) as never,
    async [Symbol.asyncDispose]() {
      channel.close();
    },
  };
}

/** A subscription that knows when it is heard: an answer that comes before would be lost. */
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
      if (!isHeard) await Promise.race([heard, sleep(READY_PATIENCE_MS, undefined, { ref: false })]);
    },
    close() {
      clearInterval(timer);
      unsubscribe();
    },
  };
}

const HELLO = 'hello';
const READY_PATIENCE_MS = 2_000;

/** True for the first who claims a question, and only for them. */
export async function claimAsk(pool: Pool, askID: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into ask_claim (ask_id, expires_at) values ($1, now() + interval '1 hour') on conflict do nothing`,
    [askID],
  );
  return rowCount === 1;
}

/** The reply, or undefined when time is up or nobody waits any more. */
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

/** The asker does not hear what is said after its deadline, so a worker ends this much earlier. */
export function wayBackMs(leftMs: number): number {
  return Math.floor(Math.min(250, leftMs / 4));
}

/** The same words from whichever side notices first. */
export function tooLate({ begun, gone = false }: { begun: boolean; gone?: boolean }): AppError {
  const what = begun
    ? 'A worker has begun and did not answer in time: the outcome is unknown'
    : 'No worker was free to take this in time, and nothing was done';
  return new AppError('UPSTREAM_TIMEOUT', gone ? `The client went away. ${what}` : what, { details: { begun } });
}
