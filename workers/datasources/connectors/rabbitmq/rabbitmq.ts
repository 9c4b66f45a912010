import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Channel, ConfirmChannel, GetMessage } from 'amqplib';
import type { z } from 'zod';
import { currentReservation } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { rabbitmq } from '#shared/datasources/types/rabbitmq.ts';
import type { QueryResult } from '../../../connections/connection.ts';
import { createBatch } from '../../../connections/fetch-batch.ts';
import { bytesOf, type Encoding, writtenBytes } from '../../../connections/payload.ts';
import { createSharedConnection } from '../../../connections/shared-connection.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { formatAddress, upstreamError } from '../../../outbound/upstream-error.ts';
import type { Connector } from '../connector.ts';
import { openRabbitMQConnection, type RabbitMQConnection } from './connection.ts';
import { endpointOf } from './endpoint.ts';

type Query = z.output<(typeof rabbitmq)['query']>;
type Reading = Extract<Query, { operation: 'consume' | 'peek' }>;
type Publishing = Extract<Query, { operation: 'publish' }>;

/** Time that the server has to close the connection in the orderly way. */
const CLOSE_MS = 1_000;

/** One connection for all calls, with a channel for each; a call that reads has its own connection. */
export const connectRabbitmq: Connector<typeof rabbitmq> = (options, { outbound }) => {
  const endpoint = endpointOf(options);
  const where = formatAddress(endpoint.host, endpoint.port);
  const createOwnConnection = () =>
    createSharedConnection<RabbitMQConnection>({
      where,
      open: (signal) => openRabbitMQConnection(endpoint, outbound, signal),
      isOpen: ({ closed }) => !closed.aborted,
      close: (connection) => void close(connection),
    });
  const shared = createOwnConnection();

  return {
    test: (signal) => shared.use(signal, (connection) => onChannel(connection, where, async () => undefined)),
    async execute({ query }, { signal, maxRows, idempotencyKey }) {
      if (query.operation === 'consume' || query.operation === 'peek') {
        // Messages read and not acknowledged return to the queue with the end of the connection, and a giant message delays no other call.
        await using own = createOwnConnection();
        return await own.use(signal, (connection) =>
          onChannel(connection, where, (channel) => read(channel, query, { connection, maxRows })),
        );
      }
      if (query.operation !== 'publish')
        return await shared.use(signal, (connection) =>
          onChannel(connection, where, (channel) => manage(channel, query)),
        );
      const bytes = bytesOf('message', query.message, query.encoding);
      const message = { query, bytes, idempotencyKey, ...addressOf(query) };
      return await shared.use(signal, (connection) =>
        onChannel(connection, where, (channel) => publish(channel, message)),
      );
    },
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
};

async function close({ model, destroy }: RabbitMQConnection): Promise<void> {
  await Promise.race([model.close().catch(() => undefined), sleep(CLOSE_MS, undefined, { ref: false })]);
  destroy();
}

/** Runs work on a channel of its own, because a server refuses a request by closing the channel. */
async function onChannel<T>(
  connection: RabbitMQConnection,
  where: string,
  work: (channel: ConfirmChannel) => Promise<T>,
): Promise<T> {
  const channelErrors: Error[] = [];
  const { closed, model } = connection;
  connection.expect();
  try {
    const channel = await unlessAborted(closed, model.createConfirmChannel());
    channel.on('error', (error) => void channelErrors.push(error));
    try {
      const result = await unlessAborted(closed, work(channel));
      // The server confirms the end of the channel only when it has done everything that was sent on it.
      await unlessAborted(closed, channel.close());
      return result;
    } catch (error) {
      channel.close().catch(() => undefined);
      throw error;
    }
  } catch (error) {
    throw known(error, { channelErrors, connection, where });
  }
}

function known(
  error: unknown,
  { channelErrors, connection, where }: { channelErrors: Error[]; connection: RabbitMQConnection; where: string },
): unknown {
  if (error instanceof AppError) return error;
  const excess = connection.excess();
  if (excess) return excess;
  const [channelError] = channelErrors;
  if (!channelError || !('code' in channelError)) return upstreamError('lost', where, error);
  return new AppError('DB_ERROR', channelError.message.replace(/^.*with message "(.*)"$/s, '$1').slice(0, 500), {
    cause: channelError,
    details: { amqp_code: Number(channelError.code) },
  });
}

interface Message {
  query: Publishing;
  exchange: string;
  routingKey: string;
  bytes: Buffer;
  idempotencyKey: string | null;
}

async function publish(channel: ConfirmChannel, message: Message): Promise<QueryResult> {
  const { query, exchange, routingKey, bytes, idempotencyKey } = message;
  const { expiration, ...options } = query.messageOptions;
  const { promise: confirmed, resolve, reject } = Promise.withResolvers<void>();
  let isReturned = false;
  channel.on('return', () => {
    isReturned = true;
  });
  channel.publish(
    exchange,
    routingKey,
    bytes,
    {
      ...options,
      ...(expiration !== undefined && { expiration: String(expiration) }),
      // The id of the message is the same for every attempt, so that a consumer can recognize a repeated message.
      ...(idempotencyKey !== null && { messageId: hash('sha256', idempotencyKey).slice(0, 40) }),
    },
    (error) => (error ? reject(error) : resolve()),
  );
  await confirmed.catch((cause: unknown) => {
    if (!(cause instanceof Error) || cause.message !== 'message nacked') throw cause;
    throw new AppError('DB_ERROR', 'The server has not taken the message', { cause });
  });
  // A returned message comes before its confirmation.
  if (isReturned)
    throw invalidField(
      'routingKey',
      `no queue takes ${routingKey || 'what has none'}${exchange && ` at ${exchange}`}`,
      { code: 'DB_ERROR' },
    );
  return { data: { exchange, routingKey, bytes: bytes.length }, affectedRows: 1 };
}

function addressOf({ queue, exchange, routingKey }: Publishing): { exchange: string; routingKey: string } {
  if (queue === undefined && exchange === '' && routingKey === '')
    throw invalidField('queue', 'must be given, or an exchange');
  if (queue === undefined) return { exchange, routingKey };
  if (exchange === '' && routingKey === '') return { exchange: '', routingKey: queue };
  throw invalidField('queue', 'stands in the place of exchange and routingKey, not beside them');
}

async function manage(channel: Channel, query: Exclude<Query, Reading | Publishing>): Promise<QueryResult> {
  const { queue } = query;
  switch (query.operation) {
    case 'getQueueInfo': {
      const { messageCount, consumerCount } = await channel.checkQueue(queue);
      return { data: { queue, messageCount, consumerCount } };
    }
    case 'purge': {
      const { messageCount } = await channel.purgeQueue(queue);
      return { data: { queue, messageCount }, affectedRows: messageCount };
    }
    case 'deleteQueue': {
      const { messageCount } = await channel.deleteQueue(queue);
      return { data: { queue, messageCount } };
    }
    case 'declareQueue': {
      const { exchange, exchangeType, routingKey, queueOptions } = query;
      const { messageCount, consumerCount } = await channel.assertQueue(queue, queueOptions);
      if (exchange !== undefined) {
        if (exchangeType) await channel.assertExchange(exchange, exchangeType, { durable: queueOptions.durable });
        await channel.bindQueue(queue, exchange, routingKey);
      }
      return { data: { queue, messageCount, consumerCount } };
    }
  }
}

/** Reads messages one by one without waiting for new ones; acknowledges them when all have been read and fit the result. */
async function read(
  channel: Channel,
  { operation, queue, messageCount, encoding }: Reading,
  { connection, maxRows }: { connection: RabbitMQConnection; maxRows: number },
): Promise<QueryResult> {
  const batch = createBatch();
  const wanted = Math.min(messageCount, maxRows);
  let last: GetMessage | undefined;
  let remaining = 0;
  while (batch.rows.length < wanted) {
    connection.expect();
    const message = await channel.get(queue);
    if (!message) {
      remaining = 0;
      break;
    }
    // The next message is requested only when there is memory for this one.
    await currentReservation()?.reserve(message.content.length);
    remaining = message.fields.messageCount;
    if (!batch.add(presentMessage(message, encoding))) {
      remaining += 1;
      break;
    }
    last = message;
  }
  if (operation === 'consume' && last) channel.ack(last, true);
  // Messages that were read and are not returned go back to the queue.
  channel.nackAll(true);
  const { rows } = batch;
  return { data: rows, rowCount: rows.length, truncated: remaining > 0 && rows.length < messageCount };
}

function presentMessage({ content, fields, properties }: GetMessage, encoding: Encoding): Json {
  const { exchange, routingKey, redelivered } = fields;
  const known = Object.entries(properties).flatMap(([name, value]): [string, Json][] =>
    value === undefined || name === 'headers' ? [] : [[name, jsonOf(value)]],
  );
  return {
    message: writtenBytes('The message', content, encoding),
    properties: { ...Object.fromEntries(known), headers: jsonOf(properties.headers ?? {}) },
    fields: { exchange, routingKey, redelivered },
  };
}

/** The driver writes bytes as a Buffer, and times and decimals as objects with the type under "!". */
function jsonOf(value: unknown): Json {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (Array.isArray(value)) return value.map(jsonOf);
  if (typeof value === 'object' && value !== null) return objectOf(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  return typeof value === 'string' || typeof value === 'boolean' ? value : null;
}

function objectOf(value: object): Json {
  const fields: JsonObject = Object.fromEntries(Object.entries(value).map(([name, child]) => [name, jsonOf(child)]));
  if (fields['!'] === 'timestamp') return timeOf(Number(fields.value));
  const { digits, places: scale } = (fields['!'] === 'decimal' ? fields.value : {}) as JsonObject;
  if (typeof digits === 'number' && typeof scale === 'number') return decimalOf(digits, scale);
  return fields;
}

function timeOf(seconds: number): Json {
  const time = new Date(seconds * 1_000);
  return Number.isNaN(time.getTime()) ? seconds : time.toISOString();
}

function decimalOf(digits: number, scale: number): string {
  const text = String(digits).padStart(scale + 1, '0');
  return scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`;
}
