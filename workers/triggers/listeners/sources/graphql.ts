import { createClient, type FormattedExecutionResult } from 'graphql-ws';
import WebSocket from 'ws';
import { AppError } from '#shared/core/errors.ts';
import { isExact } from '#shared/core/exact-number.ts';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import { readJSON } from '#shared/core/lossless-json.ts';
import type { graphql as graphqlDatasource } from '#shared/datasources/types/graphql.ts';
import type { graphql } from '#shared/triggers/listeners/types/graphql.ts';
import { credentialsOf } from '../../../datasources/connectors/graphql.ts';
import { whereOf } from '../../../outbound/fetch.ts';
import { headersOf } from '../../../outbound/headers.ts';
import { connectURL } from '../../../outbound/tls.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { upstreamError } from '../../../outbound/upstream-error.ts';
import { connecting, untilFailed } from './alive.ts';
import type { SourceContext, SourceOf } from './source.ts';

type GraphqlSource = SourceOf<typeof graphqlDatasource, typeof graphql>;
type Context = Parameters<GraphqlSource['receive']>[0];

const MAX_MESSAGE_BYTES = 10_000_000;
const KEEP_ALIVE_MS = 20_000;
const ACKNOWLEDGE_MS = 15_000;

/** A subscription by the protocol `graphql-transport-ws`. */
export const graphqlSource: GraphqlSource = {
  async receive(context) {
    const { options, config, signal, services } = context;
    const url = new URL(options.subscriptionEndpoint || options.endpoint.replace(/^http/, 'ws'));
    const where = whereOf(url);
    const headers = { ...headersOf(options.headers), ...credentialsOf(options).headers };
    const { sslVerify } = options;
    const stream = await connectURL(services.outbound, url, { sslVerify, signal: connecting(signal) });
    const { failed: ended, fail: reject } = untilFailed();

    class ConnectedWebSocket extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, {
          headers,
          createConnection: () => stream,
          followRedirects: false,
          perMessageDeflate: false,
          maxPayload: MAX_MESSAGE_BYTES,
        });
        this.on('error', (error) => reject(upstreamError('refused', where, error)));
        passParsed(this);
      }
    }
    const client = createClient({
      url: url.href,
      webSocketImpl: ConnectedWebSocket,
      retryAttempts: 0,
      lazy: false,
      onNonLazyError: (error) => reject(readable(error, where)),
      keepAlive: KEEP_ALIVE_MS,
      connectionAckWaitTimeout: ACKNOWLEDGE_MS,
      // Servers look for credentials here or in the headers of the request.
      connectionParams: headers,
      on: { connected: () => context.ready() },
    });
    const recordArrival = context.recordFrom(stream);
    try {
      client.subscribe(
        {
          query: config.subscription,
          variables: variablesOf(config.variables),
          ...(config.operationName && { operationName: config.operationName }),
        },
        {
          next: (result) => takeResult(result, recordArrival),
          error: (error) => reject(readable(error, where)),
          complete: () => reject(upstreamError('lost', where, new Error('the server has ended the subscription'))),
        },
      );
      await unlessAborted(signal, ended);
    } finally {
      client.terminate();
      stream.destroy();
    }
  },
};

function takeResult(
  { data, errors }: FormattedExecutionResult<unknown, unknown>,
  recordArrival: ReturnType<SourceContext['recordFrom']>,
): void {
  const meta: JsonObject = errors ? { errors: errors.map(({ message }) => ({ message })) } : {};
  recordArrival({ body: Buffer.from(JSON.stringify(data ?? null)), meta, contentType: 'application/json' });
}

/** Passes messages to the client as values. It would parse them itself, and round numbers that a double does not hold. */
function passParsed(socket: WebSocket): void {
  const set = (listener: ((event: { data: unknown }) => void) | null) => {
    socket.removeAllListeners('message');
    if (listener) socket.on('message', (data) => listener({ data: parsed(data.toString()) }));
  };
  Object.defineProperty(socket, 'onmessage', { set });
}

/** A text that is not JSON stays one: the client names the fault. */
function parsed(text: string): unknown {
  try {
    return readJSON(text);
  } catch {
    return text;
  }
}

/** Variables as they are written: numbers that a double does not hold are sent digit by digit. */
function variablesOf(variables: Context['config']['variables']): JsonObject {
  if (typeof variables !== 'string') return variables;
  const value: unknown = variables.trim() === '' ? {} : JSON.parse(variables, asWritten);
  return isJsonObject(value) ? value : {};
}

function asWritten(_key: string, value: unknown, { source }: { source?: string } = {}): unknown {
  // Safe: TypeScript's declarations lack the method.
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
  return typeof value === 'number' && source !== undefined && !isExact(source) ? rawJSON(source) : value;
}

/** Maps closing codes of the protocol, and errors of the subscription itself. */
function readable(error: unknown, where: string): unknown {
  if (Array.isArray(error)) {
    const [first]: { message?: unknown }[] = error;
    return new AppError('DB_ERROR', String(first?.message ?? 'The server refuses the subscription').slice(0, 500));
  }
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (code === 4401 || code === 4403) return upstreamError('authentication', where, error);
  if (code === 4400 || code === 4406) return upstreamError('refused', where, error);
  return error instanceof AppError ? error : upstreamError('lost', where, error);
}
