import { z } from 'zod';
import { shownFor } from '../../../core/schema/shown-for.ts';
import { namesIn } from '../names-in.ts';
import { orderBy } from '../order-key.ts';
import { defineListener } from './define-listener.ts';

/** Messages of channels, or entries of a stream. */
export const redis = defineListener({
  type: 'redis',
  label: 'Redis',
  hasEndpoint: false,
  config: z
    .object({
      orderBy,
      subscriptionType: z.enum(['pubsub', 'stream']).default('pubsub').meta({
        title: 'Kind of subscription',
        description:
          '`pubsub`: messages that are published while the listener is connected. `stream`: entries of a stream, each acknowledged when it is stored',
      }),
      channels: z
        .string()
        .max(10_000)
        .default('')
        .meta({
          ...shownFor({ subscriptionType: ['pubsub'] }),
          title: 'Channels',
          description: 'Names with commas between them, such as orders, stock.*; one with *, ? or [ is a pattern',
        }),
      stream: z
        .string()
        .max(1_000)
        .default('')
        .meta({
          ...shownFor({ subscriptionType: ['stream'] }),
          title: 'Stream',
          description: 'Name of the key, such as orders',
        }),
      consumerGroup: z
        .string()
        .max(255)
        .default('gantry')
        .meta({
          ...shownFor({ subscriptionType: ['stream'] }),
          title: 'Consumer group',
          description: 'Created if there is none, from the end of the stream. A group gets each entry once',
        }),
      consumerName: z
        .string()
        .max(255)
        .default('')
        .meta({
          ...shownFor({ subscriptionType: ['stream'] }),
          title: 'Consumer',
          description: 'Name in the group. Empty: one that is made of the id of the listener',
        }),
      batchSize: z
        .int()
        .min(1)
        .max(500)
        .default(100)
        .meta({
          ...shownFor({ subscriptionType: ['stream'] }),
          title: 'Entries at once',
          description: 'How many are fetched with one command',
        }),
    })
    .superRefine(({ subscriptionType, channels, stream, consumerGroup }, check) => {
      const missing = (field: string, message: string) => check.addIssue({ code: 'custom', path: [field], message });
      if (subscriptionType === 'pubsub' && namesIn(channels).length === 0) missing('channels', 'expected a channel');
      if (subscriptionType === 'stream' && stream === '') missing('stream', 'expected the name of a stream');
      if (subscriptionType === 'stream' && consumerGroup === '') missing('consumerGroup', 'expected a name');
    }),
  defaults: { subscriptionType: 'pubsub', channels: 'events' },
});
