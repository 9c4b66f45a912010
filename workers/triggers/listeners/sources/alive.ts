import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '#shared/core/errors.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { upstreamError } from '../../../outbound/upstream-error.ts';
import type { SourceContext } from './source.ts';

/** A connection whose server has not answered for so long counts as lost. */
const ANSWER_MS = 15_000;
const EVERY_MS = 20_000;
const CONNECT_MS = 20_000;

/** Waits for an answer of the server, and rejects when it takes too long. */
export async function answered<T>(where: string, signal: AbortSignal, answer: Promise<T>, ms = ANSWER_MS): Promise<T> {
  const both = AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  try {
    return await unlessAborted(both, answer);
  } catch (error) {
    throw both.aborted && !signal.aborted ? upstreamError('timeout', where, error) : error;
  }
}

/** A signal that aborts with the given one, or when the making of a connection takes too long. */
export function connecting(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]);
}

/**
 * Asks the server for a sign of life from time to time, until the signal is aborted or the server does not answer. A connection that is
 * only listened to would not notice that the other side has ended. While nothing is read, an answer cannot arrive: then it is asked again.
 */
export async function untilSilent(
  where: string,
  { signal, wasPausedSince }: Pick<SourceContext, 'signal' | 'wasPausedSince'>,
  { ask, everyMs = EVERY_MS, answerMs = ANSWER_MS }: ProbeOptions,
): Promise<never> {
  while (true) {
    await sleep(everyMs, undefined, { signal, ref: false });
    const askedAt = performance.now();
    try {
      await answered(where, signal, ask(), answerMs);
    } catch (error) {
      const isLate = error instanceof AppError && error.code === 'UPSTREAM_TIMEOUT';
      if (!isLate || !wasPausedSince(askedAt)) throw error;
    }
  }
}

interface ProbeOptions {
  ask: () => Promise<unknown>;
  everyMs?: number;
  answerMs?: number;
}

/** A promise that only rejects, when a connection fails: perhaps before anything awaits it, or when nothing does any more. */
export function untilFailed(): { failed: Promise<never>; fail(error: unknown): void } {
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  failed.catch(() => undefined);
  return { failed, fail };
}
