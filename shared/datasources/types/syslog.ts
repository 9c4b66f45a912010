import { z } from 'zod';
import { quote } from '../../core/quote.ts';
import { readNetwork } from '../../core/setting-formats.ts';
import { connectionName } from '../fields/connection.ts';
import { defineDatasource } from './define-datasource.ts';

/** A port of the workers, to which devices and servers send their logs. Listeners of the type receive them. */
export const syslog = defineDatasource({
  type: 'syslog',
  label: 'Syslog',
  category: 'messaging',
  listensOnly: true,
  options: z.object({
    connectionName,
    protocol: z.enum(['udp', 'tcp']).default('udp').meta({
      title: 'Protocol',
      description:
        'What the senders use. With `udp`, messages are lost while too many are on their way; `tcp` holds the senders back',
    }),
    port: z.int().min(1).max(65_535).meta({
      title: 'Port',
      description:
        'Where workers listen, such as 5514: one that an operator of this deployment has given to the tenant',
    }),
    allowedSources: z
      .string()
      .max(10_000)
      .default('')
      .superRefine((text, check) => {
        if (text.split(',').every((part) => part.trim() === '' || readNetwork(part.trim()) !== undefined)) return;
        const expected = 'expected addresses and networks such as 10.1.2.0/24, with commas between them';
        check.addIssue({ code: 'custom', message: `${expected}, received ${quote(text)}` });
      })
      .meta({
        title: 'Senders',
        description: 'Addresses and networks that may send, with commas between them, such as 10.1.2.0/24. Empty: all',
      }),
  }),
  query: z.object({}),
  templates: {},
  // It has no queries.
  writes: () => null,
  defaults: { options: { protocol: 'udp', port: 5514 }, query: {} },
});
