import { z } from 'zod';
import { Json } from '../../../core/json.ts';
import { orderBy } from '../order-key.ts';
import { defineListener } from './define-listener.ts';

/** Messages that a server sends through a WebSocket. */
export const websocket = defineListener({
  type: 'websocket',
  label: 'WebSocket',
  hasEndpoint: false,
  config: z.object({
    orderBy,
    message: Json.optional().meta({
      title: 'First message',
      description: 'Sent after connecting, for example to subscribe; other values than text as JSON',
    }),
    parseAsJSON: z
      .boolean()
      .default(true)
      .meta({ title: 'Messages are JSON', description: 'Text that is JSON becomes a value. Off: it stays text' }),
  }),
  defaults: {},
});
