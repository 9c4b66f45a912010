import { Socket } from 'node:net';
import { type ChannelModel, connect, type SocketOptions } from 'amqplib';
import { AppError } from '#shared/errors.ts';
import { tooLarge } from '../../connections/batch.ts';
import type { Outbound } from '../../outbound/gate.ts';
import { tlsOptions } from '../../outbound/tls.ts';
import { placeOf, type Reason, reasonOf, upstreamError } from '../../outbound/upstream-error.ts';
import type { Target } from './target.ts';

/** A connection that has been let in. */
export interface RabbitMQConnection {
  readonly model: ChannelModel;
  /** Aborted when the connection has ended. */
  readonly gone: AbortSignal;
  /** Somebody waits for an answer, so one more message may come. */
  expect(): void;
  /** Why it was ended, when more came than anybody waited for. */
  excess(): AppError | undefined;
  destroy(): void;
}

/** What the server may send after each question: more than an answer can carry need not be kept in memory. */
const MOST_INFLOW = 32 * 1024 * 1024;
const FRAME_BYTES = 131_072;

/** The driver takes no socket, so it gets addresses that were checked; it does not connect again by itself. */
export async function openRabbitMQConnection(
  target: Target,
  outbound: Outbound,
  signal: AbortSignal,
): Promise<RabbitMQConnection> {
  let failure: unknown;
  for (const address of await outbound.resolve(target.host, signal)) {
    try {
      return await openAt(address, target, signal);
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

async function openAt(address: string, target: Target, signal: AbortSignal): Promise<RabbitMQConnection> {
  const { host, port, certificates } = target;
  // The signal given ends with the time to connect, which must not end a connection that has come about.
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
        username: target.username,
        password: target.password,
        vhost: encodeURIComponent(target.vhost),
        heartbeat: target.heartbeat,
        frameMax: FRAME_BYTES,
        maxFrameSize: FRAME_BYTES,
      },
      socketOptions,
    );
    return connectionOn(model);
  } catch (error) {
    throw upstreamError(signal.aborted ? 'timeout' : reasonFor(error), placeOf(host, port), error);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function connectionOn(model: ChannelModel): RabbitMQConnection {
  const gone = new AbortController();
  model.on('error', () => undefined);
  model.on('close', (error) => gone.abort(error ?? new Error('the connection has ended')));
  const { connection } = model;
  if (!('stream' in connection) || !(connection.stream instanceof Socket))
    throw new Error('the driver does not keep its socket where it did');
  const { stream } = connection;
  let allowed = MOST_INFLOW;
  let excess: AppError | undefined;
  // The driver gathers a message until it is whole, however large it says that it is.
  stream.on('readable', () => {
    if (stream.bytesRead <= allowed) return;
    excess = tooLarge();
    gone.abort(excess);
    stream.destroy(excess);
  });
  return {
    model,
    gone: gone.signal,
    expect() {
      allowed = stream.bytesRead + MOST_INFLOW;
    },
    excess: () => excess,
    // Without an error the driver would not notice, and its heartbeat would go on.
    destroy: () => void stream.destroy(new Error('the connection was given up')),
  };
}

/** A refusal during the opening has no code: what the driver says of it is all there is. */
function reasonFor(error: unknown): Reason {
  const reason = reasonOf(error);
  if (reason) return reason;
  const said = error instanceof Error ? error.message : '';
  if (/^Handshake terminated by server: (?:403|530)|^SASL mechanism/.test(said)) return 'authentication';
  // All that is left to be refused by then is the virtual host.
  if (/^Expected ConnectionOpenOk; got <ConnectionClose/.test(said)) return 'not-found';
  return 'refused';
}
