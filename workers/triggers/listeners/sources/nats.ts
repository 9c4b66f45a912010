import type { JsMsg } from '@nats-io/jetstream';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { AppError } from '#shared/core/errors.ts';
import type { nats as natsDatasource } from '#shared/datasources/types/nats.ts';
import { namesIn } from '#shared/triggers/listeners/names-in.ts';
import type { nats } from '#shared/triggers/listeners/types/nats.ts';
import { openFirst, serversOf } from '../../../datasources/connectors/nats.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { formatAddress, upstreamError } from '../../../outbound/upstream-error.ts';
import { answered, connecting, untilFailed, untilSilent } from './alive.ts';
import type { Arrival, Pausable, SourceOf } from './source.ts';

type NatsSource = SourceOf<typeof natsDatasource, typeof nats>;
type Context = Parameters<NatsSource['receive']>[0];

const FETCHED_AT_ONCE = 100;
const FETCH_MS = 5_000;
/** Time after which the server sends an unacknowledged message again, because the owner that received it has died. */
const ACK_SECONDS = 5;

export const natsSource: NatsSource = {
  async receive(context) {
    const { config, options, signal, services } = context;
    const servers = serversOf(options.servers);
    const where = servers.map(({ host, port }) => formatAddress(host, port)).join(', ');
    const { connection } = await openFirst(servers, options, services.outbound, connecting(signal));
    try {
      const lost = connection.closed().then(() => {
        throw upstreamError('lost', where);
      });
      // The connection is closed after the work has ended, too; that must not be an unhandled rejection.
      lost.catch(() => undefined);
      const work =
        config.stream === '' ? subscribe(connection, context, where) : readStream(connection, context, where);
      await unlessAborted(signal, Promise.race([work, lost]));
    } finally {
      await connection.close().catch(() => undefined);
    }
  },
  remoteResourceOf: ({ config, listenerID }) =>
    config.stream === '' ? undefined : `${config.stream} ${durableOf(listenerID)}`,
  async removeRemoteResource({ config, options, listenerID, services, signal }) {
    const { jetstreamManager } = await import('@nats-io/jetstream');
    const { connection } = await openFirst(serversOf(options.servers), options, services.outbound, signal);
    try {
      const streams = await jetstreamManager(connection);
      await streams.consumers.delete(config.stream, durableOf(listenerID)).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    } finally {
      await connection.close().catch(() => undefined);
    }
  },
};

/** The stream or the consumer does not exist any more. */
function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'status' in error && error.status === 404;
}

function durableOf(listenerID: string): string {
  return `gantry-${listenerID}`;
}

async function subscribe(connection: NatsConnection, context: Context, where: string): Promise<never> {
  const { config, signal } = context;
  const recordArrival = context.recordFrom(socketOf(connection));
  const { failed: refused, fail: reject } = untilFailed();
  for (const subject of namesIn(config.subjects))
    connection.subscribe(subject, {
      ...(config.queueGroup !== '' && { queue: config.queueGroup }),
      callback: (error, message) => {
        if (error) reject(new AppError('DB_ERROR', `${subject} may not be read`, { cause: error }));
        else recordArrival(arrivalOf(message));
      },
    });
  await answered(where, signal, connection.flush());
  context.ready();
  return await Promise.race([refused, untilSilent(where, context, { ask: () => connection.flush() })]);
}

/** The socket, from a private field of the driver, which has no means to pause reading. */
function socketOf(connection: NatsConnection): Pausable {
  const { protocol } = connection as unknown as { protocol?: { transport?: { socket?: Pausable } } };
  const socket = protocol?.transport?.socket;
  if (!socket) throw new Error('the driver does not keep its socket where it did');
  return socket;
}

/** Reads a stream with a durable consumer: the server stores how far this listener has read. */
async function readStream(connection: NatsConnection, context: Context, where: string): Promise<never> {
  const { config, signal, listenerID } = context;
  const { stream } = config;
  const { AckPolicy, DeliverPolicy, jetstream, jetstreamManager } = await import('@nats-io/jetstream');
  const streams = await answered(where, signal, jetstreamManager(connection));
  const durable = durableOf(listenerID);
  const [subject, ...others] = namesIn(config.subjects);
  // Several filters need NATS 2.10, so a single one uses the older field.
  const filter =
    others.length > 0 ? { filter_subjects: namesIn(config.subjects) } : subject ? { filter_subject: subject } : {};
  const settings = { ack_policy: AckPolicy.Explicit, ack_wait: ACK_SECONDS * 1e9, max_ack_pending: 1_000, ...filter };
  try {
    const known = await answered(where, signal, streams.consumers.info(stream, durable)).catch(() => undefined);
    await answered(
      where,
      signal,
      known
        ? streams.consumers.update(stream, durable, settings)
        : streams.consumers.add(stream, { ...settings, durable_name: durable, deliver_policy: DeliverPolicy.New }),
    );
  } catch (error) {
    if (error instanceof AppError || !(error instanceof Error)) throw error;
    throw new AppError('DB_ERROR', `The stream ${stream} cannot be read: ${error.message}`, { cause: error });
  }
  const consumer = await answered(where, signal, jetstream(connection).consumers.get(stream, durable));
  context.ready();
  // Handles the failure of one message while others are awaited: a rejection that is handled only later would end the process.
  const { failed: refused, fail: reject } = untilFailed();

  async function recordArrival(message: JsMsg): Promise<void> {
    const { seq, subject: to, data } = message;
    await context.record({ ...arrivalOf({ subject: to, data }), key: `${stream} ${seq}` });
    message.ack();
  }

  async function read(): Promise<never> {
    while (true) {
      await context.untilCapacity();
      const messages = await answered(
        where,
        signal,
        consumer.fetch({ max_messages: FETCHED_AT_ONCE, expires: FETCH_MS }),
      );
      const recordings: Promise<void>[] = [];
      for await (const message of messages) recordings.push(recordArrival(message).catch(reject));
      await Promise.all(recordings);
    }
  }

  return await Promise.race([refused, read()]);
}

function arrivalOf({ subject, data }: Pick<Msg, 'subject' | 'data'>): Arrival {
  return { body: Buffer.from(data), meta: { subject } };
}
