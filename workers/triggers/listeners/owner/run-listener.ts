import { setTimeout as sleep } from 'node:timers/promises';
import type { Semaphore } from '#shared/concurrency/semaphore.ts';
import { AppError, toAppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { ReadListener } from '#shared/triggers/listeners/listener-reader.ts';
import type { OutboundServices } from '../../../datasources/connectors/outbound-services.ts';
import type { Source, SourceContext } from '../sources/source.ts';
import type { Report } from './leases.ts';
import type { createRecording, Recording } from './recording.ts';

/**
 * Age at which a connection counts as working, without and with an event, so that the failures before it are forgotten. An event alone
 * proves nothing: a server may greet each client, or say that there are too many, and then close.
 */
const PROVEN_MS = { silent: 30_000, withEvent: 5_000 };
const BACKOFF_MS = { first: 1_000, most: 60_000 };
/** After so many consecutive failures the status of the listener becomes `error`. It still reconnects. */
const MAX_QUIET_FAILURES = 10;
/** Time that a connection has to end after `stop`. */
const STOP_MS = 5_000;

export interface RunnerNeeds {
  services: OutboundServices;
  logger: Logger;
  /** Connections that are being made at once, over all tenants. */
  connecting: Semaphore;
  recordingFor(of: Parameters<typeof createRecording>[1]): Recording;
  report(report: Report): void;
  /** Shorter times, for tests. */
  firstBackoffMs?: number;
  provenMs?: typeof PROVEN_MS;
}

export interface Runner {
  /** Resolves when the connection has ended and nothing more is recorded. */
  stop(): Promise<void>;
}

/** A listener with its config and options as their types parse them. */
export interface LiveListener extends Omit<ReadListener, 'config' | 'options'> {
  config: { orderBy: string };
  options: unknown;
}

interface Start {
  listener: LiveListener;
  source: Source;
  cursor: JsonObject | null;
}

/** Keeps a listener connected until it is stopped. */
export function runListener({ listener, source, cursor }: Start, needs: RunnerNeeds): Runner {
  const { connecting, report, logger, provenMs = PROVEN_MS } = needs;
  const { id: listenerID, tenantID, type } = listener;
  const ended = new AbortController();
  let lastCursor = cursor;
  let failures = 0;

  function reportState(state: Report['state'], lastError: string | null): void {
    report({ listenerID, state, retryCount: failures, lastError, cursor: lastCursor });
  }

  /** Runs one connection until it ends. Resolves with why it ended, and whether it had counted as working. */
  async function connectOnce(): Promise<{ isProven: boolean; error: unknown }> {
    const attempt = new AbortController();
    const signal = AbortSignal.any([ended.signal, attempt.signal]);
    const releasePermit = await connecting.acquirePermit({ tenantID }, signal);
    let isProven = false;
    let hasArrived = false;
    let isOld = false;
    const proofs: NodeJS.Timeout[] = [];
    let isReleased = releasePermit === undefined;

    const releaseOnce = () => {
      if (!isReleased) releasePermit?.();
      isReleased = true;
    };
    const prove = () => {
      if (isProven) return;
      isProven = true;
      if (failures === 0) return;
      failures = 0;
      reportState('running', null);
    };
    const recording = needs.recordingFor({
      ...{ tenantID, listenerID, type, signal, orderBy: listener.config.orderBy },
      onArrival() {
        hasArrived = true;
        if (isOld) prove();
      },
      onFailure: (error) => attempt.abort(error),
    });
    const context: SourceContext = {
      ...{ listenerID, tenantID, signal, services: needs.services, logger },
      options: listener.options,
      config: listener.config,
      cursor: lastCursor ?? undefined,
      ready() {
        releaseOnce();
        reportState('running', null);
        const age = () => {
          isOld = true;
          if (hasArrived) prove();
        };
        proofs.push(setTimeout(age, provenMs.withEvent).unref(), setTimeout(prove, provenMs.silent).unref());
      },
      record: recording.record,
      untilCapacity: recording.untilCapacity,
      recordFrom: recording.recordFrom,
      wasPausedSince: recording.wasPausedSince,
      keepCursor(next) {
        lastCursor = next;
        reportState('running', null);
      },
    };
    try {
      await source.receive(context);
      return {
        isProven,
        error: attempt.signal.aborted ? attempt.signal.reason : new Error('the connection has ended'),
      };
    } catch (error) {
      return { isProven, error: attempt.signal.aborted ? attempt.signal.reason : error };
    } finally {
      for (const proof of proofs) clearTimeout(proof);
      releaseOnce();
      attempt.abort();
      await recording.settled();
    }
  }

  async function run(): Promise<void> {
    while (!ended.signal.aborted) {
      const { isProven, error } = await connectOnce();
      if (ended.signal.aborted) return;
      failures = isProven ? 1 : failures + 1;
      const known = toAppError(error);
      logger.debug({ err: error, listenerID }, 'the connection of a listener has ended');
      const isHopeless = error instanceof AppError && !error.retry;
      reportState(isHopeless || failures >= MAX_QUIET_FAILURES ? 'error' : 'reconnecting', wordsOf(known));
      await sleep(backoffMs(failures, needs.firstBackoffMs), undefined, { signal: ended.signal }).catch(
        () => undefined,
      );
    }
  }

  const running = run().catch((error: unknown) => logger.error({ err: error, listenerID }, 'a listener has stopped'));
  return {
    async stop() {
      ended.abort();
      const inTime = await Promise.race([running.then(() => true), sleep(STOP_MS, false, { ref: false })]);
      if (!inTime) logger.warn({ listenerID }, 'the connection of a listener does not end');
    },
  };
}

/** Pause that doubles up to a minute, less a random part of up to half, so that listeners of one server do not reconnect at once. */
export function backoffMs(failures: number, first = BACKOFF_MS.first, random = Math.random()): number {
  return Math.min(first * 2 ** (failures - 1), BACKOFF_MS.most) * (0.5 + random / 2);
}

function wordsOf({ code, message }: AppError): string {
  return code === 'INTERNAL_ERROR' ? 'The connection has ended' : message;
}
