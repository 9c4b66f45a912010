import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { CHAT_CHANNEL, CHAT_READER_MS, ChatSignal } from '#shared/apps/ai/chat.ts';
import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Messages } from '#shared/messaging/backplane/index.ts';
import { type AnswerState, endLostAnswer, keepReading, readAnswer } from '../ai/chat.ts';
import { requireStreamCapacity, type StreamOwner } from './stream-capacity.ts';

/** Sends answers of language models to clients, in the protocol of the AI SDK. */
export interface ChatStreams extends Disposable {
  /**
   * Sends an answer from its beginning until it is over or the client has disconnected. Throws the error of an answer
   * that failed before its first chunk.
   */
  send(answer: SentAnswer, response: ServerResponse): Promise<void>;
  /** Reads the next chunks of an answer at once, without waiting for the next poll. */
  wake(answerID: string): void;
}

interface SentAnswer extends StreamOwner {
  answerID: string;
  /** The answer goes on when no client reads it. */
  isResumable: boolean;
}

interface Needs {
  pool: Pool;
  messages: Messages;
  logger: Logger;
  draining: AbortSignal;
}

const capacity = { ofCaller: 20, ofTenant: 200, ofUser: 400 };
/** Interval at which an answer is read without a message: messages may be lost. */
const POLL_MS = 1_000;
const HEARTBEAT_MS = 15_000;
/** A client that accepts no data for this time is disconnected. */
const STALLED_MS = 30_000;

const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-store',
  'x-vercel-ai-ui-message-stream': 'v1',
  'x-accel-buffering': 'no',
};

interface Reader extends SentAnswer {
  wake: PromiseWithResolvers<void>;
}

export function createChatStreams({ pool, messages, logger, draining }: Needs): ChatStreams {
  const readers = new Set<Reader>();
  const wake = (answerID: string) => {
    for (const reader of readers) if (reader.answerID === answerID) reader.wake.resolve();
  };
  const unsubscribe = messages.subscribe(CHAT_CHANNEL, (message) => {
    const { data } = ChatSignal.safeParse(message);
    if (data) wake(data.answerID);
  });
  return {
    wake,
    async send(answer, response) {
      requireStreamCapacity([...readers], answer, capacity);
      const reader: Reader = { ...answer, wake: Promise.withResolvers() };
      readers.add(reader);
      try {
        await sendAnswer({ pool, logger }, { reader, response, draining });
      } finally {
        readers.delete(reader);
      }
    },
    [Symbol.dispose]: unsubscribe,
  };
}

interface Sending {
  reader: Reader;
  response: ServerResponse;
  draining: AbortSignal;
}

async function sendAnswer(
  { pool, logger }: Pick<Needs, 'pool' | 'logger'>,
  { reader, response, draining }: Sending,
): Promise<void> {
  const { answerID, isResumable } = reader;
  const disconnected = new AbortController();
  const disconnect = () => disconnected.abort();
  response.once('close', disconnect);
  draining.addEventListener('abort', disconnect, { once: true });
  const heartbeat = setInterval(
    () => response.headersSent && !response.writableNeedDrain && response.write(':\n\n'),
    HEARTBEAT_MS,
  );
  const readMark = {
    name: 'that an answer is read',
    everyMs: CHAT_READER_MS / 5,
    run: () => keepReading(pool, answerID),
  };
  await using _reading = isResumable ? undefined : startPeriodicTask(readMark, logger);
  try {
    let after = 0;
    while (!disconnected.signal.aborted) {
      reader.wake = Promise.withResolvers();
      const state = await readAnswer(pool, answerID, after);
      for (const { number, chunks } of state?.rows ?? []) {
        after = number;
        await write(response, JSON.parse(chunks), disconnected.signal);
      }
      if (!state) return finish(response);
      if (state.isOver) return await end(response, state, disconnected.signal);
      if (state.isLost) await endLostAnswer(pool, answerID);
      else if (state.rows.length === 0) await pause(reader, disconnected.signal);
    }
    if (response.headersSent) response.end();
  } finally {
    clearInterval(heartbeat);
    response.off('close', disconnect);
    draining.removeEventListener('abort', disconnect);
  }
}

async function end(response: ServerResponse, { error }: AnswerState, disconnected: AbortSignal): Promise<void> {
  if (error && !response.headersSent) throw error;
  if (error) await write(response, [{ type: 'error', errorText: error.message }], disconnected);
  finish(response);
}

function finish(response: ServerResponse): void {
  begin(response);
  response.end('data: [DONE]\n\n');
}

function begin(response: ServerResponse): void {
  if (!response.headersSent) response.writeHead(200, headers).flushHeaders();
}

async function write(response: ServerResponse, chunks: readonly object[], disconnected: AbortSignal): Promise<void> {
  begin(response);
  const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
  if (disconnected.aborted || response.write(text)) return;
  const stalled = setTimeout(() => response.destroy(), STALLED_MS);
  await once(response, 'drain', { signal: disconnected }).catch(() => {});
  clearTimeout(stalled);
}

async function pause({ wake }: Reader, disconnected: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, POLL_MS);
  disconnected.addEventListener('abort', () => resolve(), { once: true });
  await Promise.race([wake.promise, promise]);
  clearTimeout(timer);
}
