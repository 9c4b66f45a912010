import { z } from 'zod';
import { shownFor } from '../../../core/schema/shown-for.ts';
import { namesIn } from '../names-in.ts';
import { orderBy } from '../order-key.ts';
import { defineListener } from './define-listener.ts';

/** Notifications of a server, or changes of its tables. */
export const postgresql = defineListener({
  type: 'postgresql',
  label: 'PostgreSQL',
  hasEndpoint: false,
  config: z
    .object({
      orderBy,
      source: z.enum(['notifications', 'changes']).default('notifications').meta({
        title: 'Kind of events',
        description:
          '`notifications`: what NOTIFY sends while the listener is connected. `changes`: rows that are inserted, updated and deleted, without gaps; the server needs `wal_level = logical`, and the user the right to replicate',
      }),
      channels: z
        .string()
        .max(10_000)
        .default('')
        .meta({
          ...shownFor({ source: ['notifications'] }),
          title: 'Channels',
          description: 'Names with commas between them, such as orders, stock',
        }),
      tables: z
        .string()
        .max(10_000)
        .default('')
        .meta({
          ...shownFor({ source: ['changes'] }),
          title: 'Tables',
          description: 'Names with commas between them, such as public.orders',
        }),
      publication: z
        .string()
        .max(63)
        .default('')
        .meta({
          ...shownFor({ source: ['changes'] }),
          title: 'Publication',
          description: 'One that exists, in place of tables',
        }),
    })
    .superRefine(({ source, channels, tables, publication }, check) => {
      const missing = (field: string, message: string) => check.addIssue({ code: 'custom', path: [field], message });
      if (source === 'notifications' && namesIn(channels).length === 0) missing('channels', 'expected a channel');
      if (source === 'changes' && namesIn(tables).length > 0 === (publication !== ''))
        missing('tables', 'expected a table, or a publication');
      if (namesIn(channels).some((name) => Buffer.byteLength(name) > 63))
        missing('channels', 'a channel has at most 63 bytes');
    }),
  defaults: { channels: 'events' },
});
