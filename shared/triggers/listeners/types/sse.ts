import { z } from 'zod';
import { orderBy } from '../order-key.ts';
import { defineListener } from './define-listener.ts';

/** Server-sent events of a URL. */
export const sse = defineListener({
  type: 'sse',
  label: 'Server-sent events',
  hasEndpoint: false,
  config: z.object({
    orderBy,
    eventTypes: z.string().max(10_000).default('').meta({
      title: 'Types of events',
      description:
        'Names with commas between them, such as order, stock; an event without a type is a `message`. Empty: all',
    }),
    parseAsJSON: z
      .boolean()
      .default(true)
      .meta({ title: 'Data is JSON', description: 'Text that is JSON becomes a value. Off: it stays text' }),
  }),
  defaults: {},
});
