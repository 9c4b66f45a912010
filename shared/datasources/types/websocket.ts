import { z } from 'zod';
import { Json } from '../../core/json.ts';
import { destination } from '../../core/schema/secret.ts';
import { connectionName } from '../fields/connection.ts';
import { SecretPairs, sslVerify, timeout, WebSocketAddress } from '../fields/http.ts';
import { defineDatasource } from './define-datasource.ts';

/** A WebSocket server that answers messages. */
export const websocket = defineDatasource({
  type: 'websocket',
  label: 'WebSocket',
  category: 'messaging',
  options: z.object({
    connectionName,
    url: destination(WebSocketAddress).meta({ title: 'URL', description: 'Such as wss://example.com/socket' }),
    headers: SecretPairs.meta({ title: 'Headers', description: 'Sent with the request that opens a connection' }),
    timeout,
    sslVerify,
  }),
  query: z.object({
    operation: z
      .literal('send_message')
      .default('send_message')
      .meta({ title: 'Operation', description: 'Always `send_message`: one message, on a connection of its own' }),
    messageFormat: z.enum(['json', 'text']).default('json').meta({
      title: 'Format of the message',
      description: 'How values of templates are written: `json` as JSON, `text` as they are',
    }),
    message: Json.meta({ title: 'Message', description: 'Sent once, such as {"ask": {{inputs.word}}}' }),
    waitForAnswer: z.boolean().default(true).meta({
      title: 'Wait for an answer',
      description: 'The first message that comes back is the result. Off: there is no result',
    }),
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
