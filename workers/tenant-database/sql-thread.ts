import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { currentFlow, currentReservation } from '#shared/concurrency/work-context.ts';
import type { StatementSpan } from './read-sql.ts';

/** A request to the thread, one text at a time. */
export type SQLRequest =
  | { work: 'findStatements'; text: string; max: number }
  | { work: 'faultOfExpression'; text: string };

type Answer<R extends SQLRequest> = R extends { work: 'findStatements' } ? StatementSpan[] : string | null;

/** One text at a time; tenants take turns. */
const semaphore = createSemaphore({ permits: 1 });

let started: Worker | undefined;

/**
 * Reads a long text in a thread. Five megabytes of `;` are as many tokens, which take half a second: in parts on the event loop, each
 * step of every other request would wait for one of them. The text counts twice in the budget of bytes, since the thread has a copy.
 */
export async function inSQLThread<R extends SQLRequest>(request: R): Promise<Answer<R>> {
  const reservation = currentReservation();
  const bytes = 2 * request.text.length;
  await reservation?.reserve(bytes);
  try {
    return await semaphore.run(currentFlow(), () => ask(request));
  } finally {
    reservation?.release(bytes);
  }
}

async function ask<R extends SQLRequest>(request: R): Promise<Answer<R>> {
  started ??= start();
  const thread = started;
  const lost = new AbortController();
  const onExit = () => lost.abort(new Error('The thread that reads SQL has ended'));
  thread.once('exit', onExit);
  thread.ref();
  try {
    thread.postMessage(request);
    const [answer] = await once(thread, 'message', { signal: lost.signal });
    return answer as Answer<R>;
  } finally {
    thread.off('exit', onExit);
    // An idle thread does not keep the process alive.
    thread.unref();
  }
}

/** Bytes for a text of five megabytes, its copy in capitals, and tokens that are not collected yet. */
const MAX_MB = 128;

function start(): Worker {
  const thread = new Worker(new URL('sql-thread-main.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: MAX_MB },
    execArgv: [],
  });
  thread.once('exit', () => {
    if (started === thread) started = undefined;
  });
  return thread;
}
