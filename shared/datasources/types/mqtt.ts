import { z } from 'zod';
import { destination, secret } from '../../core/schema/secret.ts';
import { connectionName, optionalUserWords, passwordWords, tls } from '../fields/connection.ts';
import { encoding, message } from '../fields/payload.ts';
import { certificateFields } from '../fields/tls.ts';
import { defineDatasource } from './define-datasource.ts';

const topic = z
  .string()
  .min(1)
  .refine((text) => Buffer.byteLength(text) <= 65_535, 'must have at most 65535 bytes')
  // A broker may close the connection because of them, and other queries share it.
  .refine((text) => !/[\p{Cc}\p{NChar}]/u.test(text), 'must not contain control characters');
const qos = z
  .union([z.literal(0), z.literal(1), z.literal(2)])
  .default(0)
  .meta({
    title: 'Quality of service (QoS)',
    description: 'How often a message arrives: 0 at most once, 1 at least once, 2 exactly once',
  });

function operation<const Name extends string>(name: Name) {
  return z.literal(name).meta({
    title: 'Operation',
    description: '`publish`: sends a message. `read`: subscribes for some seconds, and gives what has come',
  });
}

/** MQTT 3.1.1 and 5: messages by topic for the current subscribers, and one retained message per topic. */
export const mqtt = defineDatasource({
  type: 'mqtt',
  label: 'MQTT',
  category: 'messaging',
  options: z.object({
    connectionName,
    brokerUrl: destination(z.string().min(1).max(2_000)).meta({
      title: 'Broker',
      description: 'Address of the server: mqtt://host:1883, or mqtts://host:8883 with TLS',
    }),
    protocolVersion: z.enum(['3.1.1', '5']).default('3.1.1').meta({
      title: 'Version of MQTT',
      description: 'One that the broker speaks. Only version 5 tells when a message may not be published',
    }),
    clientId: z.string().max(1_000).default('').meta({
      title: 'Client id',
      description:
        'Name by which the broker knows the connection. Leave it empty unless the broker requires one: it closes a connection when another uses the same id',
    }),
    username: z.string().max(1_000).default('').meta(optionalUserWords),
    password: secret(z.string().max(60_000)).default('').meta(passwordWords),
    keepAlive: z.int().min(0).max(65_535).default(60).meta({
      title: 'Keep alive (s)',
      description:
        'Seconds within which the broker gets a sign of life, by which a lost connection is noticed. 0: none',
    }),
    useTLS: tls,
    ...certificateFields,
  }),
  query: z.discriminatedUnion('operation', [
    z.object({
      operation: operation('publish'),
      topic: topic
        .refine((text) => !/[+#]/.test(text), 'must not contain the wildcards + and #')
        .meta({
          title: 'Topic',
          description: 'Such as sensors/{{inputs.room}}/temperature; a value is one level of it',
        }),
      message: message('Message'),
      encoding,
      qos,
      retain: z.boolean().default(false).meta({
        title: 'Retain',
        description:
          'The broker keeps the message for those who subscribe later. An empty message deletes the kept one',
      }),
    }),
    z.object({
      operation: operation('read'),
      topic: topic.refine(isFilter, 'must use + and # for whole levels only, and # only at the end').meta({
        title: 'Topic',
        description: 'Such as sensors/+/temperature: + stands for one level, # for all that follow',
      }),
      qos,
      encoding,
      waitSeconds: z.number().min(0).max(30).default(5).meta({
        title: 'Wait (s)',
        description: 'Seconds for which messages are collected. 0: only retained messages',
      }),
      messageCount: z.int().min(1).max(1_000).default(10).meta({
        title: 'Messages at most',
        description: 'Reading ends as soon as so many have come',
      }),
    }),
  ]),
  templates: { topic: { as: 'topic' } },
  writes: ({ operation, topic: to }) => (operation === 'read' ? null : `${operation} ${to}`),
  defaults: {
    options: { brokerUrl: 'mqtt://localhost:1883' },
    query: { operation: 'publish', topic: 'greetings', message: 'hello' },
  },
});

function isFilter(text: string): boolean {
  const levels = text.split('/');
  return levels.every(
    (level, at) => !/[+#]/.test(level) || level === '+' || (level === '#' && at === levels.length - 1),
  );
}
