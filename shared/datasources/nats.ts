import { z } from 'zod';
import { Json } from '../json.ts';
import { destination, secret } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { certificateFields } from './tls.ts';

const subject = z.string().min(1).max(1_000).meta({ title: 'Subject' });
const payload = Json.default('').meta({ title: 'Payload', description: 'Other values than text are sent as JSON' });
const encoding = z.enum(['text', 'base64']).default('text').meta({ title: 'Payloads are' });

/** NATS: messages for the current subscribers. */
export const nats = defineDatasource({
  type: 'nats',
  label: 'NATS',
  category: 'messaging',
  options: z.object({
    connectionName: z.string().max(255).optional().meta({ title: 'Name' }),
    servers: destination(z.string().min(1).max(2_000)).meta({
      title: 'Servers',
      description: 'host:port, several with commas; they are tried in this order',
    }),
    token: secret(z.string()).default('').meta({ title: 'Token' }),
    user: z.string().max(255).default('').meta({ title: 'User' }),
    pass: secret(z.string()).default('').meta({ title: 'Password' }),
    useTLS: destination(z.boolean()).default(false).meta({ title: 'TLS' }),
    ...certificateFields,
  }),
  query: z.discriminatedUnion('operation', [
    z.object({ operation: z.literal('publish'), subject, payload, encoding }),
    z.object({
      operation: z.literal('request'),
      subject,
      payload,
      encoding,
      replyTimeoutMs: z.int().min(1).max(600_000).default(5_000).meta({ title: 'Wait for the reply (ms)' }),
    }),
  ]),
  templates: {},
  // The receiver of a request may do anything.
  writes: ({ operation, subject: to }) => `${operation} ${to}`,
  defaults: {
    options: { servers: 'localhost:4222' },
    query: { operation: 'publish', subject: 'greetings', payload: 'hello' },
  },
});
