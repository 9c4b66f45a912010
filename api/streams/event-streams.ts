import type { ServerResponse } from 'node:http';
import { readPolicyVersions } from '#shared/access/account-status.ts';
import { toAppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { ServerMessage } from '#shared/messaging/realtime/events.ts';
import { isTerminal } from '#shared/workflow/progress/status.ts';
import { requireStreamCapacity, type StreamOwner } from './stream-capacity.ts';
import type { RunWatch } from './watch.ts';

/** Server-sent events of runs. */
export interface EventStreams extends Disposable {
  /** Sends every event after `lastSeq`, in order and once, until the run has ended, the client has gone, or the time is over. */
  send(stream: EventStream, response: ServerResponse): Promise<void>;
}

export interface EventStream extends StreamOwner {
  instanceID: string;
  lastSeq: number;
  /** Throws if the caller may not read the run any more; answers with the version of the rules. */
  check(): Promise<number>;
  maxMs: number;
}

interface Dependencies {
  pool: Pool;
  watch: Pick<RunWatch, 'watch'>;
  logger: Logger;
  /** Set once the process has begun to stop. */
  draining: AbortSignal;
}

const capacity = { ofCaller: 50, ofTenant: 200, ofUser: 400 };

const times = {
  heartbeatMs: 15_000,
  /** A client that takes nothing for so long is disconnected. It goes on with `Last-Event-ID` when it comes back. */
  stalledMs: 30_000,
  /** How soon a stream ends after a change of rules took the permission. */
  changedMs: 1_000,
  /** How soon it ends after its user was blocked, or its token or key has expired or was disabled. */
  allMs: 10_000,
};
type Times = typeof times;

interface Open {
  stream: EventStream;
  /** The version of the tenant's rules by which the caller was checked last; none before the first round. */
  version?: number;
  checkedAt: number;
  isChecking: boolean;
  end: AbortController;
}

/** One timer checks the permissions of all streams of this process, as that of sockets does. */
export function createEventStreams(
  { pool, watch, logger, draining }: Dependencies,
  given: Partial<Times> = {},
): EventStreams {
  const { changedMs, allMs, ...intervals } = { ...times, ...given };
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

  /** While the check fails for another reason, the stream stays. */
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
        [...open].map((one) => one.stream),
        stream,
        capacity,
      );
      const opened: Open = { stream, checkedAt: performance.now(), isChecking: false, end: new AbortController() };
      open.add(opened);
      try {
        await pour({ watch, ...intervals }, stream, response, AbortSignal.any([opened.end.signal, draining]));
      } finally {
        open.delete(opened);
      }
    },
    [Symbol.dispose]() {
      clearInterval(timer);
    },
  };
}

async function pour(
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
      // The next message is not even written as JSON before the client has taken this one.
      if (!response.write(textOf(message))) await Promise.race([taken(response, stalledMs), over.promise]);
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
    // Data that are written and not taken do not keep the connection for ever.
    if (response.writableLength > 0) await taken(response, stalledMs);
  }
}

/** Resolves when the client has taken what is written, or its connection is closed, which it is after the time. */
async function taken(response: ServerResponse, timeoutMs: number): Promise<void> {
  const timer = setTimeout(() => response.destroy(), timeoutMs);
  const settled = Promise.withResolvers<void>();
  for (const event of ['drain', 'finish', 'close']) response.once(event, settled.resolve);
  await settled.promise;
  for (const event of ['drain', 'finish', 'close']) response.off(event, settled.resolve);
  clearTimeout(timer);
}

/** A client that has an id has all messages of that number. */
function textOf({ event, payload }: ServerMessage): string {
  return `event: ${event}\n${payload.more ? '' : `id: ${payload.seq}\n`}data: ${JSON.stringify(payload)}\n\n`;
}
