import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Pool } from '#shared/db/pool.ts';
import { readPolicyVersions } from '#shared/db/standing.ts';
import { AppError, toAppError } from '#shared/errors.ts';
import type { Logger } from '#shared/logger.ts';
import type { ServerMessage } from '#shared/realtime/events.ts';
import { isTerminal } from '#shared/workflow/status.ts';
import type { RunWatch } from './watch.ts';

/** Server-sent events of runs. */
export interface EventStreams extends Disposable {
  /** Sends every event after `lastSeq`, in order and once, until the run has ended, the client has gone, or the time is over. */
  send(stream: EventStream, response: ServerResponse): Promise<void>;
}

export interface EventStream {
  instanceID: string;
  lastSeq: number;
  tenantID: string;
  callerID: string;
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

const MAX_OF_CALLER = 50;
const HEARTBEAT_MS = 15_000;
/** How soon a stream ends after a change of rules took the permission, and how soon after a block or a removal. */
const CHANGED_MS = 1_000;
const ALL_MS = 10_000;

interface Open {
  stream: EventStream;
  /** Of the tenant's rules by which the caller was checked last; none before the first round. */
  version?: number;
  checkedAt: number;
  isChecking: boolean;
  end: AbortController;
}

/** One timer checks the permissions of all streams of this process, as that of sockets does. */
export function createEventStreams({ pool, watch, logger, draining }: Dependencies): EventStreams {
  const open = new Set<Open>();
  const timer = setInterval(() => {
    checkAll().catch((error) => logger.warn({ err: error }, 'streams not re-checked; the next round will'));
  }, CHANGED_MS).unref();

  async function checkAll(): Promise<void> {
    if (open.size === 0) return;
    const versions = await readPolicyVersions(pool, [...new Set([...open].map(({ stream }) => stream.tenantID))]);
    const now = performance.now();
    const due = [...open].filter(
      ({ stream, version, checkedAt }) => versions.get(stream.tenantID) !== version || now - checkedAt > ALL_MS,
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
      const own = [...open].filter((one) => one.stream.callerID === stream.callerID).length;
      if (own >= MAX_OF_CALLER)
        throw new AppError('RATE_LIMITED', `You have ${own} streams open, and may have ${MAX_OF_CALLER}`, {
          retryAfter: 5,
          reason: 'streams',
        });
      const opened: Open = { stream, checkedAt: performance.now(), isChecking: false, end: new AbortController() };
      open.add(opened);
      try {
        await pour(watch, stream, response, AbortSignal.any([opened.end.signal, draining]));
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
  watch: Pick<RunWatch, 'watch'>,
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
  const heartbeat = setInterval(() => response.write(':\n\n'), HEARTBEAT_MS);
  const timer = setTimeout(end, maxMs);
  const stop = watch.watch(instanceID, lastSeq, async (messages) => {
    for (const [at, message] of messages.entries()) {
      if (response.destroyed || response.writableEnded) return;
      const isLast = messages[at + 1]?.payload.seq !== message.payload.seq;
      // The next message is not even written as JSON before the client has taken this one.
      if (!response.write(textOf(message, isLast))) await Promise.race([once(response, 'drain'), over.promise]);
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
  }
}

/** Several messages may have one number. A client that has it has all of them. */
function textOf({ event, payload }: ServerMessage, hasID: boolean): string {
  return `event: ${event}\n${hasID ? `id: ${payload.seq}\n` : ''}data: ${JSON.stringify(payload)}\n\n`;
}
