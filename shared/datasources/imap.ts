import { z } from 'zod';
import { destination, secret } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { certificateFields } from './tls.ts';

/** A mail account. Listeners of the type receive its new mail. */
export const imap = defineDatasource({
  type: 'imap',
  label: 'IMAP',
  category: 'mail',
  listensOnly: true,
  options: z.object({
    connectionName: z.string().max(255).optional().meta({ title: 'Name' }),
    host: destination(z.string().min(1).max(253)).meta({ title: 'Host' }),
    port: destination(z.int().min(1).max(65_535)).default(993).meta({ title: 'Port' }),
    security: destination(z.enum(['tls', 'starttls', 'none']))
      .default('tls')
      .meta({ title: 'Encryption', description: 'tls from the start (993), starttls (143), or none' }),
    user: z.string().min(1).max(255).meta({ title: 'User' }),
    password: secret(z.string()).default('').meta({ title: 'Password' }),
    ...certificateFields,
  }),
  query: z.object({}),
  templates: {},
  // It has no queries.
  writes: () => null,
  defaults: {
    options: { host: 'imap.example.com', port: 993, security: 'tls', user: 'user@example.com' },
    query: {},
  },
});
