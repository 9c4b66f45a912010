import { setTimeout as sleep } from 'node:timers/promises';
import type { Channel, ConsumeMessage } from 'amqplib';
import { AppError } from '#shared/core/errors.ts';
import type { rabbitmq as rabbitmqDatasource } from '#shared/datasources/types/rabbitmq.ts';
import type { rabbitmq } from '#shared/triggers/listeners/types/rabbitmq.ts';
import {
  openRabbitMQConnection,
  type RabbitMQConnection,
} from '../../../datasources/connectors/rabbitmq/connection.ts';
import { endpointOf } from '../../../datasources/connectors/rabbitmq/endpoint.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { formatAddress, upstreamError } from '../../../outbound/upstream-error.ts';
import { answered, connecting, untilFailed } from './alive.ts';
import type { Arrival, SourceOf } from './source.ts';

type RabbitSource = SourceOf<typeof rabbitmqDatasource, typeof rabbitmq>;
type Context = Parameters<RabbitSource['receive']>[0];

const CLOSE_MS = 1_000;

export const rabbitmqSource: RabbitSource = {
  async receive(context) {
    const { options, signal, services } = context;
    const endpoint = endpointOf(options);
    const where = formatAddress(endpoint.host, endpoint.port);
    const connection = await openRabbitMQConnection(endpoint, services.outbound, connecting(signal));
    try {
      await unlessAborted(signal, unlessAborted(connection.closed, consume(connection, context, where)));
    } catch (error) {
      throw connection.closed.aborted && !signal.aborted ? upstreamError('lost', where, error) : error;
    } finally {
      await close(connection);
    }
  },
  remoteResourceOf: ({ config, listenerID }) => (config.queue === '' ? queueOf(listenerID) : undefined),
  async removeRemoteResource({ options, listenerID, services, signal }) {
    const connection = await openRabbitMQConnection(endpointOf(options), services.outbound, signal);
    try {
      const channel = await connection.model.createChannel();
      channel.on('error', () => undefined);
      await channel.deleteQueue(queueOf(listenerID));
    } finally {
      await close(connection);
    }
  },
};

function queueOf(listenerID: string): string {
  return `gantry.${listenerID}`;
}

/** The broker sends no more than `prefetch` messages that are not acknowledged, so no other back-pressure is needed. */
async function consume(connection: RabbitMQConnection, context: Context, where: string): Promise<never> {
  const { config, signal, listenerID } = context;
  const { failed: refused, fail: reject } = untilFailed();
  const channel = await answered(where, signal, connection.model.createChannel());
  channel.on('error', (error: Error) => reject(new AppError('DB_ERROR', error.message, { cause: error })));
  channel.on('close', () => reject(upstreamError('lost', where)));
  const queue = await Promise.race([refused, answered(where, signal, declare(channel, config, listenerID))]);
  await channel.prefetch(config.prefetch);

  async function recordArrival(message: ConsumeMessage): Promise<void> {
    connection.expect();
    await context.record(arrivalOf(message));
    channel.ack(message);
  }

  const onMessage = (message: ConsumeMessage | null) => {
    if (message) recordArrival(message).catch(reject);
    else reject(new AppError('DB_ERROR', `The queue ${queue} was deleted`));
  };
  await Promise.race([refused, answered(where, signal, channel.consume(queue, onMessage))]);
  context.ready();
  return await refused;
}

async function declare(channel: Channel, config: Context['config'], listenerID: string): Promise<string> {
  const { exchange, exchangeType, routingKey } = config;
  if (config.queue === '') await channel.assertQueue(queueOf(listenerID), { durable: true });
  else await channel.checkQueue(config.queue);
  const queue = config.queue || queueOf(listenerID);
  if (exchange === '') return queue;
  await channel.assertExchange(exchange, exchangeType, { durable: true });
  await channel.bindQueue(queue, exchange, routingKey);
  return queue;
}

function arrivalOf({ content, fields, properties }: ConsumeMessage): Arrival {
  const { exchange, routingKey, redelivered } = fields;
  const { messageId, correlationId, contentType }: Record<'messageId' | 'correlationId' | 'contentType', unknown> =
    properties;
  const texts = Object.entries({ messageID: messageId, correlationID: correlationId }).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return {
    body: content,
    meta: { exchange, routingKey, redelivered, ...Object.fromEntries(texts) },
    ...(typeof contentType === 'string' && { contentType }),
    ...(typeof messageId === 'string' && { key: messageId }),
  };
}

async function close({ model, destroy }: RabbitMQConnection): Promise<void> {
  await Promise.race([model.close().catch(() => undefined), sleep(CLOSE_MS, undefined, { ref: false })]);
  destroy();
}
