import { z } from 'zod';
import { Json } from '../json.ts';
import { destination, secret } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { certificateFields } from './tls.ts';

/** Names and properties are short strings in the protocol: one byte holds their length. */
const short = z.string().refine((text) => Buffer.byteLength(text) <= 255, 'must have at most 255 bytes');
/** The server removes line breaks from names, which would make another name. */
const nameOrEmpty = short.refine((text) => !/[\r\n]/.test(text), 'must not have line breaks');
const name = z.string().min(1).pipe(nameOrEmpty);
const queue = name.meta({ title: 'Queue' });
const encoding = z.enum(['text', 'base64']).default('text').meta({ title: 'Messages are' });

const headerNumber = z
  .number()
  .refine(
    (value) => !Number.isInteger(value) || Number.isSafeInteger(value),
    'must be an exact number; write a larger integer as text',
  );
const headerValue = z.union([z.string(), headerNumber, z.boolean(), z.null()]);
const headers = z
  .record(short, z.union([headerValue, z.array(headerValue)]))
  .refine((all) => Buffer.byteLength(JSON.stringify(all)) <= 25_000, 'must have at most 25000 bytes together');

const operation = <Name extends string>(value: Name) => z.literal(value).meta({ title: 'Operation' });
const reading = {
  queue,
  messageCount: z.int().min(1).max(1_000).default(1).meta({ title: 'Messages at most' }),
  encoding,
};

/** RabbitMQ and other servers with AMQP 0-9-1: messages that wait in queues. */
export const rabbitmq = defineDatasource({
  type: 'rabbitmq',
  label: 'RabbitMQ',
  category: 'messaging',
  options: z.discriminatedUnion('connectionOption', [
    z.object({
      connectionOption: z.literal('connectionDetails'),
      connectionDetails: z.object({
        connectionName: z.string().max(255).optional().meta({ title: 'Name' }),
        host: destination(z.string().min(1).max(253)).meta({ title: 'Host' }),
        port: destination(z.int().min(1).max(65_535))
          .default(5672)
          .meta({ title: 'Port', description: 'Mostly 5671 with TLS' }),
        vhost: name.default('/').meta({ title: 'Virtual host' }),
        username: z.string().max(255).default('guest').meta({ title: 'User' }),
        password: secret(z.string()).default('').meta({ title: 'Password' }),
        heartbeat: z.int().min(0).max(3_600).default(60).meta({ title: 'Heartbeat (s)', description: '0: none' }),
        ssl: destination(z.boolean()).default(false).meta({ title: 'TLS' }),
        ...certificateFields,
      }),
    }),
    z.object({
      connectionOption: z.literal('connectionUrl'),
      connectionUrl: secret(z.string().min(1).max(2_048)).meta({
        title: 'Connection URL',
        description: 'amqp://user:password@host:5672/vhost, amqps:// with TLS',
      }),
      ...certificateFields,
    }),
  ]),
  query: z.discriminatedUnion('operation', [
    z.object({
      operation: operation('publish'),
      queue: queue.optional().meta({ title: 'Queue', description: 'Instead of an exchange and a routing key' }),
      exchange: nameOrEmpty.default('').meta({ title: 'Exchange' }),
      routingKey: short.default('').meta({ title: 'Routing key' }),
      message: Json.default('').meta({ title: 'Message', description: 'Other values than text are sent as JSON' }),
      encoding,
      messageOptions: z
        .object({
          persistent: z.boolean().default(true).meta({ title: 'Survives a restart' }),
          mandatory: z
            .boolean()
            .default(true)
            .meta({ title: 'Must reach a queue', description: 'Otherwise the query fails' }),
          contentType: short.optional().meta({ title: 'Content type' }),
          expiration: z.int().min(0).optional().meta({ title: 'Lifetime (ms)' }),
          correlationId: short.optional().meta({ title: 'Correlation id' }),
          headers: headers.default({}).meta({ title: 'Headers' }),
        })
        .prefault({}),
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
          durable: z.boolean().default(true).meta({ title: 'Survives a restart' }),
          autoDelete: z.boolean().default(false).meta({ title: 'Deleted with its last consumer' }),
        })
        .prefault({}),
      exchange: name
        .optional()
        .meta({ title: 'Exchange', description: 'The queue is bound to it with the routing key' }),
      exchangeType: z
        .enum(['direct', 'topic', 'fanout', 'headers'])
        .optional()
        .meta({ title: 'Type of the exchange', description: 'Creates the exchange if it does not exist' }),
      routingKey: short.default('').meta({ title: 'Routing key' }),
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
