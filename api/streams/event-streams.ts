import type { ServerResponse } from 'node:http';
import { readPolicyVersions } from '#shared/access/account-status.ts';
import { toAppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { ServerMessage } from '#shared/messaging/realtime/events.ts';
import { isTerminal } from '#shared/workflow/progress/status.ts';
import type { RunWatch } from './run-watch.ts';
import { requireStreamCapacity, type StreamOwner } from './stream-capacity.ts';

/** Server-sent events of runs. */
export interface EventStreams extends Disposable {
  /**
   * Sends every event after `lastSeq`, in order and once, until the run has ended, the client has disconnected, or
   * `maxMs` is over.
   */
  send(stream: EventStream, response: ServerResponse): Promise<void>;
}

export interface EventStream extends StreamOwner {
  instanceID: string;
  lastSeq: number;
  /** Throws if the caller may no longer read the run; returns the version of the rules that allowed it. */
  check(): Promise<number>;
  maxMs: number;
}

interface Dependencies {
  pool: Pool;
  watch: Pick<RunWatch, 'watch'>;
  logger: Logger;
  /** Aborted when the process begins to stop. */
  draining: AbortSignal;
}

const capacity = { ofCaller: 50, ofTenant: 200, ofUser: 400 };

const times = {
  heartbeatMs: 15_000,
  /**
   * A client that accepts no data for this time is disconnected. When it reconnects, `Last-Event-ID` says where to
   * continue.
   */
  stalledMs: 30_000,
  /** The time within which a stream ends after a change of rules removed the permission. */
  changedMs: 1_000,
  /** The time within which a stream ends after its user was blocked, or its token or key expired or was disabled. */
  allMs: 10_000,
};
type Times = typeof times;

interface Open {
  stream: EventStream;
  /** The version of the tenant's rules at the last check of the caller; undefined before the first check. */
  version?: number;
  checkedAt: number;
  isChecking: boolean;
  end: AbortController;
}

/** One timer checks the permissions of all streams of this process. */
export function createEventStreams(
  { pool, watch, logger, draining }: Dependencies,
  changedTimes: Partial<Times> = {},
): EventStreams {
  const { changedMs, allMs, ...intervals } = { ...times, ...changedTimes };
  const open = new Set<Open>();
  const timer = setInterval(() => {
    checkAll().catch((error) => logger.warn({ err: error }, 'streams not re-checked; the next round will'));
  }, changedMs).unref();

  async function checkAll(): Promise<void> {
    if (open.size === 0) return;
    const versions = await readPolicyVersions(pool, [...new Set([...open].map(({ stream }) => stream.tenantID))]);
    const now = performance.now();
    const due = [...open].filter(
      ({ stream, version, checkedAt }) => versions.get(stream.tenantID) !== version || now - checkedAt > allMs,
    );
    await Promise.all(due.map(check));
  }

  /** A stream ends only if the check refuses it; if the check itself fails, the stream stays open. */
  async function check(opened: Open): Promise<void> {
    if (opened.isChecking) return;
    opened.isChecking = true;
    try {
      opened.version = await opened.stream.check();
      opened.checkedAt = performance.now();
    } catch (error) {
      if (toAppError(error).status < 500) opened.end.abort();
    } finally {
      opened.isChecking = false;
    }
  }

  return {
    async send(stream, response) {
      requireStreamCapacity(
        [...open].map((each) => each.stream),
        stream,
        capacity,
      );
      const opened: Open = { stream, checkedAt: performance.now(), isChecking: false, end: new AbortController() };
      open.add(opened);
      try {
        await sendEvents({ watch, ...intervals }, stream, response, AbortSignal.any([opened.end.signal, draining]));
      } finally {
        open.delete(opened);
      }
    },
    [Symbol.dispose]() {
      clearInterval(timer);
    },
  };
}

async function sendEvents(
  { watch, heartbeatMs, stalledMs }: Pick<Dependencies, 'watch'> & Pick<Times, 'heartbeatMs' | 'stalledMs'>,
  { instanceID, lastSeq, maxMs }: EventStream,
  response: ServerResponse,
  ended: AbortSignal,
): Promise<void> {
  const over = Promise.withResolvers<void>();
  const end = () => over.resolve();
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  response.flushHeaders();
  response.once('close', end);
  ended.addEventListener('abort', end, { once: true });
  const heartbeat = setInterval(() => response.writableNeedDrain || response.write(':\n\n'), heartbeatMs);
  const timer = setTimeout(end, maxMs);
  const stop = watch.watch(instanceID, lastSeq, async (messages) => {
    for (const message of messages) {
      if (response.destroyed || response.writableEnded) return;
      // The next message is not even serialized before the client has accepted this one.
      if (!response.write(textOf(message))) await Promise.race([drained(response, stalledMs), over.promise]);
    }
    const last = messages.at(-1);
    if (last?.event === 'workflow_status_update' && isTerminal(last.payload.status)) end();
  });
  try {
    if (ended.aborted || response.destroyed) end();
    await over.promise;
  } finally {
    stop();
    clearInterval(heartbeat);
    clearTimeout(timer);
    ended.removeEventListener('abort', end);
    response.end();
    // Data that are written and not accepted do not keep the connection open for ever.
    if (response.writableLength > 0) await drained(response, stalledMs);
  }
}

/**
 * Resolves when the client has accepted all written data or its connection is closed. After the time, closes the
 * connection.
 */
async function drained(response: ServerResponse, timeoutMs: number): Promise<void> {
  const timer = setTimeout(() => response.destroy(), timeoutMs);
  const settled = Promise.withResolvers<void>();
  for (const event of ['drain', 'finish', 'close']) response.once(event, settled.resolve);
  await settled.promise;
  for (const event of ['drain', 'finish', 'close']) response.off(event, settled.resolve);
  clearTimeout(timer);
}

/**
 * A message as text. Its id is left out while more messages of the same number follow, so that a client with an id has
 * all of them.
 */
function textOf({ event, payload }: ServerMessage): string {
  return `event: ${event}\n${payload.more ? '' : `id: ${payload.seq}\n`}data: ${JSON.stringify(payload)}\n\n`;
}
