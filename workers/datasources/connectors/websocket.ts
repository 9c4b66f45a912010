import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import WebSocket, { type RawData } from 'ws';
import { readLongJSON } from '#shared/concurrency/parse-json.ts';
import { currentReservation } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import type { websocket } from '#shared/datasources/types/websocket.ts';
import { createBackPressure } from '../../connections/back-pressure.ts';
import { whereOf } from '../../outbound/fetch.ts';
import { headersOf } from '../../outbound/headers.ts';
import { connectURL } from '../../outbound/tls.ts';
import { unlessAborted } from '../../outbound/unless-aborted.ts';
import { type Reason, upstreamError } from '../../outbound/upstream-error.ts';
import type { Connector } from './connector.ts';

const MAX_MESSAGE_BYTES = 10_000_000;

/** A socket for every message, so that an answer belongs to one message. */
export const connectWebsocket: Connector<typeof websocket> = (options, { outbound }) => {
  const url = new URL(options.url);
  const where = whereOf(url);

  /** Closes the socket in every case. */
  async function withSocket<T>(
    signal: AbortSignal,
    work: (socket: WebSocket, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const timeout = AbortSignal.timeout(options.timeout * 1000);
    const both = AbortSignal.any([signal, timeout]);
    try {
      const stream = await connectURL(outbound, url, { sslVerify: options.sslVerify, signal: both });
      return await withStream(stream, both, work);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw timeout.aborted ? upstreamError('timeout', where, error) : explain(error, where);
    }
  }

  async function withStream<T>(
    stream: Duplex,
    signal: AbortSignal,
    work: (socket: WebSocket, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const backPressure = createBackPressure();
    const socket = new WebSocket(url, {
      headers: headersOf(options.headers),
      createConnection: () => stream,
      followRedirects: false,
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
    });
    // Without a listener a late error would end the process.
    socket.on('error', () => undefined);
    try {
      await once(socket, 'open', { signal });
      // Until the socket is open, the HTTP parser reads the stream.
      backPressure.assignTo(currentReservation());
      stream.on('data', (part: Buffer) => backPressure.arrived(part.length, stream));
      return await work(socket, signal);
    } catch (error) {
      // If the back-pressure has destroyed the stream, its error is the cause.
      throw stream.errored instanceof AppError ? stream.errored : error;
    } finally {
      backPressure.assignTo(undefined);
      socket.terminate();
      stream.destroy();
    }
  }

  return {
    test: (signal) => withSocket(signal, async () => undefined),
    async execute({ query }, { signal }) {
      const { message, waitForAnswer } = query;
      const text = typeof message === 'string' ? message : JSON.stringify(message);
      return await withSocket(signal, async (socket, limited) => {
        const answer = waitForAnswer ? nextMessage(socket, where) : undefined;
        // Awaited below; until then a rejection must not count as unhandled.
        answer?.catch(() => undefined);
        await sent(socket, text, limited);
        if (answer) return { data: await unlessAborted(limited, answer) };
        socket.close(1000);
        await once(socket, 'close', { signal: limited });
        return { data: null };
      });
    },
    async [Symbol.asyncDispose]() {},
  };
};

function sent(socket: WebSocket, text: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.send(text, (error) => (error ? reject(error) : resolve()));
  return unlessAborted(signal, promise);
}

function nextMessage(socket: WebSocket, where: string): Promise<Json> {
  const { promise, resolve, reject } = Promise.withResolvers<Json>();
  socket.once('message', (message, isBinary) => resolve(read(message, isBinary)));
  socket.once('error', reject);
  socket.once('close', () => reject(upstreamError('lost', where)));
  return promise;
}

/** JSON as JSON, with texts for numbers that a double does not hold; text and JSON of very many levels as text, bytes as base64. */
async function read(message: RawData, isBinary: boolean): Promise<Json> {
  const bytes = Array.isArray(message) ? Buffer.concat(message) : Buffer.from(message as Buffer);
  if (isBinary) return bytes.toString('base64');
  const text = bytes.toString('utf8');
  try {
    return await readLongJSON(text);
  } catch {
    return text;
  }
}

const byStatus: Readonly<Record<string, Reason>> = { 401: 'authentication', 403: 'authentication', 404: 'not-found' };

export function explain(error: unknown, where: string): AppError {
  if (error instanceof AppError) return error;
  const status = /^Unexpected server response: (\d+)$/.exec(error instanceof Error ? error.message : '')?.[1];
  if (status !== undefined) return upstreamError(byStatus[status] ?? 'refused', where, error);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH')
    return new AppError('UPSTREAM_FAILED', `${where} answers with more than ${MAX_MESSAGE_BYTES / 1_000_000} MB`, {
      retry: false,
    });
  return upstreamError('lost', where, error);
}
