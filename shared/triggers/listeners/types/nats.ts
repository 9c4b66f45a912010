import { z } from 'zod';
import { namesIn } from '../names-in.ts';
import { orderBy } from '../order-key.ts';
import { defineListener } from './define-listener.ts';

/** Messages of subjects, as they are published or from a stream of JetStream. */
export const nats = defineListener({
  type: 'nats',
  label: 'NATS',
  hasEndpoint: false,
  config: z
    .object({
      orderBy,
      subjects: z
        .string()
        .max(10_000)
        .refine(
          (text) =>
            namesIn(text).every((subject) => !/\s/.test(subject) && subject.split('.').every((word) => word !== '')),
          'must be words joined by dots',
        )
        .default('')
        .meta({
          title: 'Subjects',
          description: 'Such as orders.*, stock.>; * stands for one word, > for all that follow',
        }),
      queueGroup: z.string().max(255).regex(/^\S*$/, 'must not have blanks').default('').meta({
        title: 'Queue group',
        description: 'Of the subscribers of a group, one gets each message. It has no effect on a stream',
      }),
      stream: z
        .string()
        .max(255)
        .regex(/^[^\s.*>/\\]*$/, 'must not have blanks, dots and wildcards')
        .default('')
        .meta({
          title: 'Stream of JetStream',
          description:
            'Name of a stream, whose messages the server keeps until they are stored. Empty: only what is published meanwhile',
        }),
    })
    .refine(({ subjects, stream }) => stream !== '' || namesIn(subjects).length > 0, {
      path: ['subjects'],
      message: 'expected a subject',
    }),
  defaults: { subjects: 'events.>' },
});
