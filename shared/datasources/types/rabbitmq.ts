import { z } from 'zod';
import { isUnsafeInteger } from '../../core/exact-number.ts';
import { secret } from '../../core/schema/secret.ts';
import {
  connectionName,
  connectionOption,
  connectionURL,
  detailsWords,
  host,
  passwordWords,
  port,
  tls,
  userWords,
} from '../fields/connection.ts';
import { encoding, message } from '../fields/payload.ts';
import { certificateFields } from '../fields/tls.ts';
import { defineDatasource } from './define-datasource.ts';

/** Names and properties are short strings in the protocol: one byte holds their length. */
const short = z.string().refine((text) => Buffer.byteLength(text) <= 255, 'must have at most 255 bytes');
/** The server removes line breaks from names, which would make another name. */
const nameOrEmpty = short.refine((text) => !/[\r\n]/.test(text), 'must not have line breaks');
const name = z.string().min(1).pipe(nameOrEmpty);
const queue = name.meta({ title: 'Queue', description: 'Name of the queue, such as orders' });

const headerNumber = z
  .number()
  .refine((value) => !isUnsafeInteger(value), 'must be an exact number; write a larger integer as text');
const headerValue = z.union([z.string(), headerNumber, z.boolean(), z.null()]);
const headers = z
  .record(short, z.union([headerValue, z.array(headerValue)]))
  .refine((all) => Buffer.byteLength(JSON.stringify(all)) <= 25_000, 'must have at most 25000 bytes together');

const operation = <Name extends string>(value: Name) =>
  z.literal(value).meta({
    title: 'Operation',
    description:
      '`publish`: sends a message. `consume`: takes messages out of a queue. `peek`: looks at them and leaves them there. `purge`: deletes all that wait. `getQueueInfo`: counts messages and consumers. `declareQueue`, `deleteQueue`: create and delete a queue',
  });
const reading = {
  queue,
  messageCount: z
    .int()
    .min(1)
    .max(1_000)
    .default(1)
    .meta({ title: 'Messages at most', description: 'There are fewer if the queue has fewer: reading does not wait' }),
  encoding,
};

/** RabbitMQ and other servers with AMQP 0-9-1: messages that wait in queues. */
export const rabbitmq = defineDatasource({
  type: 'rabbitmq',
  label: 'RabbitMQ',
  category: 'messaging',
  options: z.discriminatedUnion('connectionOption', [
    z.object({
      connectionOption: connectionOption('connectionDetails'),
      connectionDetails: z
        .object({
          connectionName,
          host,
          port: port(5672, '5672, or 5671 with TLS'),
          vhost: name
            .default('/')
            .meta({ title: 'Virtual host', description: 'The part of the server that the queues are in' }),
          username: z.string().max(255).default('guest').meta(userWords),
          password: secret(z.string()).default('').meta(passwordWords),
          heartbeat: z.int().min(0).max(3_600).default(60).meta({
            title: 'Heartbeat (s)',
            description: 'Seconds between signs of life, by which a lost connection is noticed. 0: none',
          }),
          ssl: tls,
          ...certificateFields,
        })
        .meta(detailsWords),
    }),
    z.object({
      connectionOption: connectionOption('connectionUrl'),
      connectionUrl: connectionURL(
        z.string().min(1).max(2_048),
        'Such as amqp://user:password@host:5672/vhost; amqps:// with TLS. Special characters are percent-encoded. It is stored encrypted',
      ),
      ...certificateFields,
    }),
  ]),
  query: z.discriminatedUnion('operation', [
    z.object({
      operation: operation('publish'),
      queue: queue
        .optional()
        .meta({ title: 'Queue', description: 'Where the message goes, in place of an exchange and a routing key' }),
      exchange: nameOrEmpty.default('').meta({
        title: 'Exchange',
        description: 'Gives the message to queues by the routing key. Empty: the default exchange',
      }),
      routingKey: short.default('').meta({
        title: 'Routing key',
        description: 'Such as orders.created; at the default exchange it is the name of a queue',
      }),
      message: message('Message'),
      encoding,
      messageOptions: z
        .object({
          persistent: z.boolean().default(true).meta({
            title: 'Survives a restart',
            description: 'The server keeps the message on disk, if its queue survives a restart too',
          }),
          mandatory: z.boolean().default(true).meta({
            title: 'Must reach a queue',
            description: 'The query fails if no queue takes the message. Off: it is then lost',
          }),
          contentType: short
            .optional()
            .meta({ title: 'Content type', description: 'Media type of the message, such as application/json' }),
          expiration: z.int().min(0).optional().meta({
            title: 'Lifetime (ms)',
            description: 'Milliseconds after which a message that was not taken is dropped. Empty: as the queue says',
          }),
          correlationId: short.optional().meta({
            title: 'Correlation id',
            description: 'By it the receiver tells which request the message belongs to',
          }),
          headers: headers
            .default({})
            .meta({ title: 'Headers', description: 'Further properties by name, such as {"source": "shop"}' }),
        })
        .prefault({})
        .meta({ title: 'Message properties', description: 'What the message is sent with, beside its text' }),
    }),
    z.object({ operation: operation('consume'), ...reading }),
    z.object({ operation: operation('peek'), ...reading }),
    z.object({ operation: operation('purge'), queue }),
    z.object({ operation: operation('getQueueInfo'), queue }),
    z.object({
      operation: operation('declareQueue'),
      queue,
      queueOptions: z
        .object({
          durable: z.boolean().default(true).meta({
            title: 'Survives a restart',
            description: 'The queue is there again after a restart of the server',
          }),
          autoDelete: z.boolean().default(false).meta({
            title: 'Deleted with its last consumer',
            description: 'The server deletes the queue when its last consumer has left',
          }),
        })
        .prefault({})
        .meta({
          title: 'Queue properties',
          description: 'Of the queue that is created; those of one that exists must be the same',
        }),
      exchange: name.optional().meta({
        title: 'Exchange',
        description: 'The queue is bound to it with the routing key. Empty: it is bound to none',
      }),
      exchangeType: z.enum(['direct', 'topic', 'fanout', 'headers']).optional().meta({
        title: 'Type of the exchange',
        description: 'The exchange is created with this type if it does not exist. Empty: it has to exist',
      }),
      routingKey: short.default('').meta({
        title: 'Routing key',
        description:
          'The queue gets messages that are sent with it; at an exchange of type `topic` it may be a pattern',
      }),
    }),
    z.object({ operation: operation('deleteQueue'), queue }),
  ]),
  templates: {},
  writes(query) {
    if (query.operation === 'peek' || query.operation === 'getQueueInfo') return null;
    return `${query.operation} ${query.queue ?? ('exchange' in query ? query.exchange : '')}`.trim();
  },
  defaults: {
    options: {
      connectionOption: 'connectionDetails',
      connectionDetails: { host: 'localhost', port: 5672, vhost: '/', username: 'guest', heartbeat: 60, ssl: false },
    },
    query: { operation: 'publish', queue: 'greetings', message: 'hello' },
  },
});
