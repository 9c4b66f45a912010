import { z } from 'zod';
import { destination, secret } from '../../core/schema/secret.ts';
import { connectionName, optionalUserWords, passwordWords, tls } from '../fields/connection.ts';
import { encoding, message } from '../fields/payload.ts';
import { certificateFields } from '../fields/tls.ts';
import { defineDatasource } from './define-datasource.ts';

const subject = z.string().min(1).max(1_000).meta({
  title: 'Subject',
  description: 'Words joined by dots, such as orders.created; without wildcards',
});
const payload = message('Payload');

function operation<const Name extends string>(name: Name) {
  return z.literal(name).meta({
    title: 'Operation',
    description: '`publish`: sends a message. `request`: sends one, and waits for the first reply',
  });
}

/** NATS: messages for the current subscribers. */
export const nats = defineDatasource({
  type: 'nats',
  label: 'NATS',
  category: 'messaging',
  options: z.object({
    connectionName,
    servers: destination(z.string().min(1).max(2_000)).meta({
      title: 'Servers',
      description: 'Such as nats1.example.com:4222; several with commas between them, tried in this order',
    }),
    token: secret(z.string()).default('').meta({
      title: 'Token',
      description: 'To sign in with, in place of user and password. It is stored encrypted',
    }),
    user: z.string().max(255).default('').meta(optionalUserWords),
    pass: secret(z.string()).default('').meta(passwordWords),
    useTLS: tls,
    ...certificateFields,
  }),
  query: z.discriminatedUnion('operation', [
    z.object({ operation: operation('publish'), subject, payload, encoding }),
    z.object({
      operation: operation('request'),
      subject,
      payload,
      encoding,
      replyTimeoutMs: z.int().min(1).max(600_000).default(5_000).meta({
        title: 'Time limit of the reply (ms)',
        description: 'Milliseconds after which a request without a reply fails',
      }),
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
