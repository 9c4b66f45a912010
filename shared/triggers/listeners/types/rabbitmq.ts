import { z } from 'zod';
import { orderBy } from '../order-key.ts';
import { defineListener } from './define-listener.ts';

const name = z.string().refine((text) => Buffer.byteLength(text) <= 255, 'must have at most 255 bytes');

/** Messages of an exchange, or of a queue that exists. */
export const rabbitmq = defineListener({
  type: 'rabbitmq',
  label: 'RabbitMQ',
  hasEndpoint: false,
  config: z
    .object({
      orderBy,
      exchange: name.default('').meta({
        title: 'Exchange',
        description: 'Such as events. It is created if there is none, and survives restarts',
      }),
      exchangeType: z.enum(['direct', 'topic', 'fanout', 'headers']).default('topic').meta({
        title: 'Type of the exchange',
        description: 'How it chooses queues; of an exchange that exists, its own type',
      }),
      routingKey: name.default('#').meta({
        title: 'Routing key',
        description: 'Messages with it are received. For `topic` a pattern: * stands for one word, # for any number',
      }),
      queue: name.default('').meta({
        title: 'Queue',
        description: 'One that exists. Empty: a queue of the listener, which is deleted with it',
      }),
      prefetch: z.int().min(1).max(1_000).default(10).meta({
        title: 'Messages at once',
        description: 'How many the server sends before one of them is acknowledged',
      }),
    })
    .refine(({ exchange, queue }) => exchange !== '' || queue !== '', {
      path: ['exchange'],
      message: 'expected an exchange, or a queue',
    }),
  defaults: { exchange: 'events', exchangeType: 'topic', routingKey: '#' },
});
