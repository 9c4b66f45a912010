import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Backplane, Messages } from './backplane/index.ts';
import type { KeyRing } from './crypto.ts';
import type { Pool } from './db/pool.ts';
import { AppError, reviveError, WireError } from './errors.ts';
import { newID } from './ids.ts';
import type { Logger } from './logger.ts';
import type { Producer } from './producer.ts';
import { AskReply, askContext } from './queues/define-ask.ts';
import type { AnyAsk } from './queues/index.ts';

export interface AskOptions {
  timeoutMs?: number;
  /** Aborted when nobody waits for the answer any more. */
  signal?: AbortSignal;
  /** Whose question it is, for the limit of how many are under way: `tenant:<id>`, `user:<id>`, … */
  lane?: string;
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
export const Outcome = z.union([z.object({ answer: z.json() }), z.object({ error: WireError })]);

/** Nothing brings a question back that was not handed over, so it is given longer than a job that has a row. */
const ENQUEUE_PATIENCE_MS = 2_000;

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

  async function ask(definition: AnyAsk, question: unknown, options: AskOptions): Promise<unknown> {
    const { timeoutMs = definition.timeoutMs, signal } = options;
    if (signal?.aborted) throw tooLate({ begun: false, gone: true });
    await channel.ready();
    const askID = newID();
    const sealed = secrets.seal(JSON.stringify(definition.question.parse(question)), askContext(askID, 'question'));
    const job = { askID, replyTo, deadline: Date.now() + timeoutMs, sealed };
    const reply = new Promise<string | null>((resolve) => waiting.set(askID, resolve));
    try {
      await hand(definition, job);
      const first = await firstOf(reply, timeoutMs, signal);
      // A message may be lost; what is in the table is not.
      const outcome = typeof first === 'string' ? first : await takeReply(askID);
      if (outcome !== undefined) return definition.answer.parse(readOutcome(askID, outcome));
    } finally {
      waiting.delete(askID);
    }
    const begun = !(await withdraw(definition, askID));
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
      lanes.within(definition, options.lane, () => ask(definition, question, options)) as never,
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

/** The same words from whichever side notices first. */
export function tooLate({ begun, gone = false }: { begun: boolean; gone?: boolean }): AppError {
  const what = begun
    ? 'A worker has begun and did not answer in time: the outcome is unknown'
    : 'No worker was free to take this in time, and nothing was done';
  return new AppError('UPSTREAM_TIMEOUT', gone ? `The client went away. ${what}` : what, { details: { begun } });
}

/** How many questions are under way, by queue and lane. */
function createLanes() {
  const counts = new Map<string, number>();
  return {
    async within<T>({ name, perLane }: AnyAsk, lane: string | undefined, work: () => Promise<T>): Promise<T> {
      if (lane === undefined) return work();
      const key = `${name} ${lane}`;
      const count = counts.get(key) ?? 0;
      if (count >= perLane)
        throw new AppError('RATE_LIMITED', `At most ${perLane} of these at once; wait for one to end`, {
          retryAfter: 1,
        });
      counts.set(key, count + 1);
      try {
        return await work();
      } finally {
        const left = (counts.get(key) ?? 1) - 1;
        if (left > 0) counts.set(key, left);
        else counts.delete(key);
      }
    },
  };
}
