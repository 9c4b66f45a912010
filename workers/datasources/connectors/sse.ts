import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { sse } from '#shared/datasources/types/sse.ts';
import { whereOf } from '../../outbound/fetch.ts';
import type { Outbound } from '../../outbound/gate.ts';
import { headersOf } from '../../outbound/headers.ts';
import { connectURL } from '../../outbound/tls.ts';
import { upstreamError } from '../../outbound/upstream-error.ts';
import type { Connector } from './connector.ts';

const TEST_MS = 15_000;
const KEEP_ALIVE_MS = 30_000;

export const connectSse: Connector<typeof sse> = (options, { outbound }) => ({
  async test(signal) {
    const both = AbortSignal.any([signal, AbortSignal.timeout(TEST_MS)]);
    const { socket } = await openEvents(options, { outbound, signal: both });
    socket.destroy();
  },
  async execute() {
    throw invalidField('datasourceType', 'an sse datasource has no queries: listeners receive what it sends');
  },
  async [Symbol.asyncDispose]() {},
});

interface Opening {
  outbound: Outbound;
  signal: AbortSignal;
  lastEventID?: string | undefined;
}

/** An open response, whose body is an endless stream of events. */
export interface OpenedEvents {
  response: IncomingMessage;
  socket: Socket;
  /** Name of the server in errors. */
  where: string;
}

/** Redirects are not followed: their target would get the headers, which may be credentials. */
export async function openEvents(
  { url: address, headers, sslVerify }: z.output<(typeof sse)['options']>,
  { outbound, signal, lastEventID }: Opening,
): Promise<OpenedEvents> {
  const url = new URL(address);
  const where = whereOf(url);
  const socket = await connectURL(outbound, url, { sslVerify, signal });
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  const sent = request({
    path: `${url.pathname}${url.search}`,
    headers: {
      accept: 'text/event-stream',
      'cache-control': 'no-cache',
      'user-agent': 'gantry',
      ...headersOf(headers),
      ...(lastEventID !== undefined && { 'last-event-id': encodeURI(lastEventID) }),
      host: url.host,
    },
    createConnection: () => socket,
  });
  // Without a listener an error after the response would end the process.
  sent.on('error', () => undefined);
  sent.end();
  try {
    const [response] = (await once(sent, 'response', { signal })) as [IncomingMessage];
    response.on('error', () => undefined);
    checkAnswer(response, where);
    return { response, socket, where };
  } catch (error) {
    socket.destroy();
    if (error instanceof AppError) throw error;
    throw upstreamError(signal.aborted ? 'timeout' : 'lost', where, error);
  }
}

function checkAnswer({ statusCode = 0, headers }: IncomingMessage, where: string): void {
  if (statusCode === 401 || statusCode === 403) throw upstreamError('authentication', where);
  if (statusCode === 404) throw upstreamError('not-found', where);
  if (statusCode !== 200)
    throw new AppError('UPSTREAM_FAILED', `${where} answers with status ${statusCode}; expected 200`);
  if (!/^text\/event-stream\b/i.test(headers['content-type'] ?? ''))
    throw new AppError('UPSTREAM_FAILED', `What ${where} answers are no server-sent events`, { retry: false });
}
