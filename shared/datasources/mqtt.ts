import { z } from 'zod';
import { Json } from '../json.ts';
import { destination, secret } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { certificateFields } from './tls.ts';

const topic = z
  .string()
  .min(1)
  .refine((text) => Buffer.byteLength(text) <= 65_535, 'must have at most 65535 bytes')
  // A broker may close the connection because of them, and other queries share it.
  .refine((text) => !/[\p{Cc}\p{NChar}]/u.test(text), 'must not contain control characters');
const qos = z
  .union([z.literal(0), z.literal(1), z.literal(2)])
  .default(0)
  .meta({ title: 'QoS', description: '0: at most once, 1: at least once, 2: exactly once' });
const encoding = z.enum(['text', 'base64']).default('text').meta({ title: 'Messages are' });

/** MQTT 3.1.1 and 5: messages by topic for the current subscribers, and one retained message per topic. */
export const mqtt = defineDatasource({
  type: 'mqtt',
  label: 'MQTT',
  category: 'messaging',
  options: z.object({
    connectionName: z.string().max(255).optional().meta({ title: 'Name' }),
    brokerUrl: destination(z.string().min(1).max(2_000)).meta({
      title: 'Broker',
      description: 'mqtt://host:1883, or mqtts://host:8883 with TLS',
    }),
    protocolVersion: z.enum(['3.1.1', '5']).default('3.1.1').meta({ title: 'Version of MQTT' }),
    clientId: z.string().max(1_000).default('').meta({
      title: 'Client id',
      description:
        'Leave it empty unless the broker requires one: it closes a connection when another uses the same id',
    }),
    username: z.string().max(1_000).default('').meta({ title: 'User' }),
    password: secret(z.string().max(60_000)).default('').meta({ title: 'Password' }),
    keepAlive: z.int().min(0).max(65_535).default(60).meta({ title: 'Keep alive (s)', description: '0: none' }),
    useTLS: destination(z.boolean()).default(false).meta({ title: 'TLS' }),
    ...certificateFields,
  }),
  query: z.discriminatedUnion('operation', [
    z.object({
      operation: z.literal('publish').meta({ title: 'Operation' }),
      topic: topic
        .refine((text) => !/[+#]/.test(text), 'must not contain the wildcards + and #')
        .meta({ title: 'Topic' }),
      message: Json.default('').meta({ title: 'Message', description: 'Other values than text are sent as JSON' }),
      encoding,
      qos,
      retain: z
        .boolean()
        .default(false)
        .meta({ title: 'Retain', description: 'An empty message deletes the retained one' }),
    }),
    z.object({
      operation: z.literal('read').meta({ title: 'Operation' }),
      topic: topic
        .refine(isFilter, 'must use + and # for whole levels only, and # only at the end')
        .meta({ title: 'Topic', description: '+ stands for one level, # for all that follow' }),
      qos,
      encoding,
      waitSeconds: z
        .number()
        .min(0)
        .max(30)
        .default(5)
        .meta({ title: 'Wait (s)', description: '0: only retained messages' }),
      messageCount: z.int().min(1).max(1_000).default(10).meta({ title: 'Messages at most' }),
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
