import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Messages } from '#shared/messaging/backplane/index.ts';
import { CompletionNotice, type RunOutcome } from '#shared/runs/completion-notices.ts';
import { RUN_CHANNEL, RunSignal } from '#shared/runs/signals.ts';
import { findEnded, findParked, readOutcome } from '../runs/run-outcomes.ts';

/** Runs whose outcome a client of this process waits for. */
export interface AwaitedRuns extends AsyncDisposable {
  /** The channel on which workers notify this process of the ends of runs; stored with each run that is awaited. */
  readonly channel: string;
  /**
   * Listens for the end of a run. To miss nothing, call it before the run is accepted. `untilParked`: the wait ends as well when the run
   * waits for a person or another system, or for a time that comes too late.
   */
  expect(run: { tenantID: string; instanceID: string; untilParked?: boolean }): AwaitedRun;
  /** Ends all waits, and every later one at once. */
  drain(): void;
}

export interface AwaitedRun extends Disposable {
  /** Reads the outcome at once, for a run that may have ended already. */
  poll(): void;
  /** The outcome, or undefined if the run has not ended within `ms` or before the client goes away. Never throws. */
  outcome(ms: number, disconnected: AbortSignal): Promise<RunOutcome | undefined>;
}

interface Dependencies {
  pool: Pool;
  messages: Messages;
  logger: Logger;
  /** The interval at which the awaited runs are compared with Postgres. */
  compareMs?: number;
}

/** The time that the last read may take when the time of a client is up. */
const LAST_READ_MS = 1_000;

/**
 * A worker sends the outcome with its message. If the message is lost, or the outcome is too large for a message, the
 * outcome is read from Postgres: once a second, one query finds the awaited runs that have ended.
 */
export function createAwaitedRuns({ pool, messages, logger, compareMs = 1_000 }: Dependencies): AwaitedRuns {
  // A channel's name is at most 63 bytes long on Postgres, the deployment's prefix included.
  const channel = `ends.${randomBytes(8).toString('hex')}`;
  const awaited = new Map<string, Set<Wait>>();
  const report = (error: unknown) => logger.warn({ err: error }, 'awaited runs not read; the next comparison will');
  let isDrained = false;

  function ended(instanceID: string, outcome?: RunOutcome): void {
    for (const wait of awaited.get(instanceID) ?? []) wait.ended(outcome);
  }

  const subscriptions = [
    messages.subscribe(channel, (message) => {
      const notices = RunEnds.parse(message);
      for (const { instanceID, outcome, isParked } of notices) if (!isParked) ended(instanceID, outcome);
      const parked = notices.flatMap(({ instanceID, isParked }) => (isParked ? [instanceID] : []));
      if (parked.length > 0) stopParked(parked).catch(report);
    }),
    // The end of a run that no worker executes, which no worker announces.
    messages.subscribe(RUN_CHANNEL, (message) => {
      for (const { kind, instanceID } of RunSignals.safeParse(message).data ?? [])
        if (kind === 'cancelled') ended(instanceID);
    }),
  ];

  async function stopParked(ids: Iterable<string>): Promise<void> {
    const waits = [...ids].flatMap((id) =>
      [...(awaited.get(id) ?? [])].flatMap((wait) => {
        const ms = wait.msUntilParkedCounts();
        return ms === undefined ? [] : [{ id, ms, wait }];
      }),
    );
    if (waits.length === 0) return;
    const parked = new Set(await findParked(pool, waits));
    for (const { id, wait } of waits) if (parked.has(id)) wait.stop();
  }

  let isComparing = false;
  async function compare(): Promise<void> {
    if (isComparing || awaited.size === 0) return;
    isComparing = true;
    try {
      const found = findEnded(pool, [...awaited.keys()]);
      // A connection that was cut off silently may never answer; the next comparison gets another one.
      const tooLate = sleep(5 * compareMs, undefined, { ref: false }).then(() =>
        Promise.reject(new Error('no answer')),
      );
      for (const id of await Promise.race([found, tooLate])) ended(id);
      // A run that this one has started may have parked, which only its own row says.
      await Promise.race([stopParked(awaited.keys()), tooLate]);
    } catch (error) {
      report(error);
    } finally {
      isComparing = false;
    }
  }
  const timer = setInterval(() => void compare(), compareMs).unref();

  function drain(): void {
    isDrained = true;
    for (const waits of awaited.values()) for (const wait of waits) wait.stop();
  }

  return {
    channel,
    expect({ tenantID, instanceID, untilParked = false }) {
      const wait = new Wait(() => readOutcome(pool, { tenantID, instanceID }), report, untilParked);
      const waits = awaited.get(instanceID) ?? new Set();
      awaited.set(instanceID, waits.add(wait));
      if (isDrained) wait.stop();
      return {
        poll: () => wait.ended(),
        outcome: (ms, disconnected) => wait.outcome(ms, disconnected),
        [Symbol.dispose]() {
          waits.delete(wait);
          if (waits.size === 0) awaited.delete(instanceID);
        },
      };
    },
    drain,
    async [Symbol.asyncDispose]() {
      drain();
      clearInterval(timer);
      for (const unsubscribe of subscriptions) unsubscribe();
    },
  };
}

const RunEnds = z.array(CompletionNotice);
const RunSignals = z.array(RunSignal);

/** One client's wait for one run. */
class Wait {
  readonly #read: () => Promise<RunOutcome | undefined>;
  readonly #report: (error: unknown) => void;
  readonly #stopped = Promise.withResolvers<void>();
  #isStopped = false;
  #outcome: RunOutcome | undefined;
  #hasEnded = false;
  #endsAt: number | undefined;
  readonly #untilParked: boolean;
  #wake: () => void = () => undefined;

  constructor(read: () => Promise<RunOutcome | undefined>, report: (error: unknown) => void, untilParked: boolean) {
    this.#read = read;
    this.#report = report;
    this.#untilParked = untilParked;
  }

  /** The time that the client waits further; undefined if it waits for a parked run as well, or not yet. */
  msUntilParkedCounts(): number | undefined {
    return this.#untilParked && this.#endsAt !== undefined && !this.#outcome && !this.#isStopped
      ? Math.max(0, this.#endsAt - performance.now())
      : undefined;
  }

  /** Notes that the run has ended; without the outcome, `outcome` reads it. */
  ended(outcome?: RunOutcome): void {
    this.#outcome ??= outcome;
    this.#hasEnded = true;
    this.#wake();
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopped.resolve();
    this.#wake();
  }

  async outcome(ms: number, disconnected: AbortSignal): Promise<RunOutcome | undefined> {
    const stop = () => this.stop();
    this.#endsAt = performance.now() + ms;
    const timer = setTimeout(stop, ms);
    disconnected.addEventListener('abort', stop);
    if (disconnected.aborted) stop();
    try {
      while (!this.#outcome && !this.#isStopped) await this.#next();
    } finally {
      clearTimeout(timer);
      disconnected.removeEventListener('abort', stop);
    }
    if (!this.#outcome && !disconnected.aborted)
      await Promise.race([this.#readOutcome(), sleep(LAST_READ_MS, undefined, { ref: false })]);
    return this.#outcome;
  }

  async #next(): Promise<void> {
    if (this.#hasEnded) {
      // If this read fails, the next comparison notes again that the run has ended.
      this.#hasEnded = false;
      await Promise.race([this.#readOutcome(), this.#stopped.promise]);
    } else
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }

  async #readOutcome(): Promise<void> {
    try {
      this.#outcome ??= await this.#read();
    } catch (error) {
      this.#report(error);
    }
  }
}
