import { once } from 'node:events';
import WebSocket, { type RawData } from 'ws';
import type { websocket as websocketDatasource } from '#shared/datasources/types/websocket.ts';
import type { websocket } from '#shared/triggers/listeners/types/websocket.ts';
import { explain } from '../../../datasources/connectors/websocket.ts';
import { whereOf } from '../../../outbound/fetch.ts';
import { headersOf } from '../../../outbound/headers.ts';
import { connectURL } from '../../../outbound/tls.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { upstreamError } from '../../../outbound/upstream-error.ts';
import { connecting, untilFailed, untilSilent } from './alive.ts';
import type { SourceOf } from './source.ts';

type WebsocketSource = SourceOf<typeof websocketDatasource, typeof websocket>;

/** A larger message ends the connection. */
const MAX_MESSAGE_BYTES = 10_000_000;

export const websocketSource: WebsocketSource = {
  async receive(context) {
    const { options, config, signal, services } = context;
    const url = new URL(options.url);
    const where = whereOf(url);
    const opening = connecting(signal);
    const stream = await connectURL(services.outbound, url, { sslVerify: options.sslVerify, signal: opening });
    const socket = new WebSocket(url, {
      headers: headersOf(options.headers),
      createConnection: () => stream,
      followRedirects: false,
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
    });
    const { failed: lost, fail: reject } = untilFailed();
    socket.on('error', (error) => reject(explain(error, where)));
    socket.on('close', (code) => reject(upstreamError('lost', where, new Error(`closed with ${code}`))));
    const recordArrival = context.recordFrom(socket);
    socket.on('message', (message, isBinary) =>
      recordArrival({ body: bytesOf(message), meta: {}, ...typeOf(isBinary, config.parseAsJSON) }),
    );
    try {
      await Promise.race([lost, once(socket, 'open', { signal: opening })]);
      const { message } = config;
      if (message !== undefined) socket.send(typeof message === 'string' ? message : JSON.stringify(message));
      context.ready();
      await unlessAborted(signal, Promise.race([lost, untilSilent(where, context, { ask: () => pong(socket) })]));
    } finally {
      socket.terminate();
      stream.destroy();
    }
  },
};

async function pong(socket: WebSocket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once('pong', () => resolve());
  socket.ping();
  await promise;
}

/** Content type of a message. A text that is JSON counts as JSON, unless the config excludes that. */
function typeOf(isBinary: boolean, parseAsJSON: boolean): { contentType?: string } {
  if (isBinary) return { contentType: 'application/octet-stream' };
  return parseAsJSON ? {} : { contentType: 'text/plain' };
}

function bytesOf(message: RawData): Buffer {
  if (Array.isArray(message)) return Buffer.concat(message);
  return Buffer.isBuffer(message) ? message : Buffer.from(message);
}
