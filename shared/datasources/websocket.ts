import { z } from 'zod';
import { Json } from '../json.ts';
import { destination } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { SecretPairs, sslVerify, timeout } from './http-fields.ts';

/** A WebSocket server that answers messages. */
export const websocket = defineDatasource({
  type: 'websocket',
  label: 'WebSocket',
  category: 'messaging',
  options: z.object({
    connectionName: z.string().max(255).optional().meta({ title: 'Name' }),
    url: destination(
      z
        .url({ protocol: /^wss?$/, error: 'must be a URL that begins with ws:// or wss://' })
        .max(2_000)
        .refine((text) => {
          const url = URL.parse(text);
          return url === null || (url.username === '' && url.password === '' && url.hash === '');
        }, 'must not contain a user, a password or a #'),
    ).meta({ title: 'URL' }),
    headers: SecretPairs.meta({ title: 'Headers' }),
    timeout,
    sslVerify,
  }),
  query: z.object({
    operation: z.literal('send_message').default('send_message'),
    messageFormat: z.enum(['json', 'text']).default('json').meta({ title: 'Format of the message' }),
    message: Json.meta({ title: 'Message', description: 'Sent once; its answer is the result' }),
    waitForAnswer: z.boolean().default(true).meta({ title: 'Wait for an answer' }),
  }),
  templates: {
    message: {
      as: 'chosen',
      by: 'messageFormat',
      otherwise: 'json',
      uses: { json: { as: 'json' }, text: { as: 'text' } },
    },
  },
  writes: () => 'a message',
  defaults: {
    options: { url: 'wss://example.com/socket' },
    query: { operation: 'send_message', messageFormat: 'json', message: '{}' },
  },
});
