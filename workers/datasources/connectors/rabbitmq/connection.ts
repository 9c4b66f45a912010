import { Socket } from 'node:net';
import { type ChannelModel, connect, type SocketOptions } from 'amqplib';
import { AppError } from '#shared/core/errors.ts';
import { tooLarge } from '../../../connections/fetch-batch.ts';
import type { Outbound } from '../../../outbound/gate.ts';
import { tlsOptions } from '../../../outbound/tls.ts';
import { formatAddress, type Reason, reasonOf, upstreamError } from '../../../outbound/upstream-error.ts';
import type { RabbitMQEndpoint } from './endpoint.ts';

/** A connection that the server has accepted. */
export interface RabbitMQConnection {
  readonly model: ChannelModel;
  /** Aborted when the connection has ended. */
  readonly closed: AbortSignal;
  /** Renews the limit of received bytes, because a call now waits for a message. */
  expect(): void;
  /** Error of a connection that was ended because the server sent more bytes than allowed. */
  excess(): AppError | undefined;
  destroy(): void;
}

/** Bytes that the server may send after each `expect`: a result is never larger. */
const MAX_INFLOW = 32 * 1024 * 1024;
const FRAME_BYTES = 131_072;

/** The driver takes no socket, so it gets checked addresses; it does not reconnect by itself. */
export async function openRabbitMQConnection(
  endpoint: RabbitMQEndpoint,
  outbound: Outbound,
  signal: AbortSignal,
): Promise<RabbitMQConnection> {
  let failure: unknown;
  for (const address of await outbound.resolve(endpoint, signal)) {
    try {
      return await openAt(address, endpoint, signal);
    } catch (error) {
      failure = error;
      if (!isUnreachable(error)) break;
    }
  }
  throw failure;
}

function isUnreachable(error: unknown): boolean {
  const details = error instanceof AppError ? error.details : undefined;
  return typeof details === 'object' && details !== null && 'reason' in details && details.reason === 'unreachable';
}

async function openAt(address: string, endpoint: RabbitMQEndpoint, signal: AbortSignal): Promise<RabbitMQConnection> {
  const { host, port, certificates } = endpoint;
  // The driver's signal must not abort later: it would end an established connection.
  const opening = new AbortController();
  const stop = () => opening.abort();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  const socketOptions: SocketOptions & { signal: AbortSignal } = {
    noDelay: true,
    signal: opening.signal,
    clientProperties: { product: 'gantry', version: '', platform: '', information: '', connection_name: 'gantry' },
    ...(certificates && tlsOptions(host, certificates)),
  };
  try {
    const model = await connect(
      {
        protocol: certificates ? 'amqps' : 'amqp',
        hostname: address,
        port,
        username: endpoint.username,
        password: endpoint.password,
        vhost: encodeURIComponent(endpoint.vhost),
        heartbeat: endpoint.heartbeat,
        frameMax: FRAME_BYTES,
        maxFrameSize: FRAME_BYTES,
      },
      socketOptions,
    );
    return connectionOn(model);
  } catch (error) {
    throw upstreamError(signal.aborted ? 'timeout' : reasonFor(error), formatAddress(host, port), error);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function connectionOn(model: ChannelModel): RabbitMQConnection {
  const closed = new AbortController();
  model.on('error', () => undefined);
  model.on('close', (error) => closed.abort(error ?? new Error('the connection has ended')));
  const { connection } = model;
  if (!('stream' in connection) || !(connection.stream instanceof Socket))
    throw new Error('the driver does not keep its socket where it did');
  const { stream } = connection;
  let allowed = MAX_INFLOW;
  let excess: AppError | undefined;
  // The driver buffers a whole message of any announced size.
  stream.on('readable', () => {
    if (stream.bytesRead <= allowed) return;
    excess = tooLarge();
    closed.abort(excess);
    stream.destroy(excess);
  });
  return {
    model,
    closed: closed.signal,
    expect() {
      allowed = stream.bytesRead + MAX_INFLOW;
    },
    excess: () => excess,
    // Without an error the driver would not notice, and its heartbeat would go on.
    destroy: () => void stream.destroy(new Error('the connection was given up')),
  };
}

/** A refusal during the opening has no code, only the driver's message. */
function reasonFor(error: unknown): Reason {
  const reason = reasonOf(error);
  if (reason) return reason;
  const said = error instanceof Error ? error.message : '';
  if (/^Handshake terminated by server: (?:403|530)|^SASL mechanism/.test(said)) return 'authentication';
  // Only the virtual host can still be refused at this point.
  if (/^Expected ConnectionOpenOk; got <ConnectionClose/.test(said)) return 'not-found';
  return 'refused';
}
