import { z } from 'zod';
import { destination, secret } from '../../core/schema/secret.ts';
import { connectionName, host, passwordWords, port, userWords } from '../fields/connection.ts';
import { certificateFields } from '../fields/tls.ts';
import { defineDatasource } from './define-datasource.ts';

/** A mail account. Listeners of the type receive its new mail. */
export const imap = defineDatasource({
  type: 'imap',
  label: 'IMAP',
  category: 'mail',
  listensOnly: true,
  options: z.object({
    connectionName,
    host,
    port: port(993, '993 for `tls`, 143 for `starttls`'),
    security: destination(z.enum(['tls', 'starttls', 'none']))
      .default('tls')
      .meta({
        title: 'Encryption',
        description:
          '`tls`: encrypted from the start. `starttls`: encrypted before signing in, or not connected. `none`: password and mails are sent unencrypted',
      }),
    user: z
      .string()
      .min(1)
      .max(255)
      .meta({ ...userWords, description: 'Name to sign in with, mostly the e-mail address' }),
    password: secret(z.string()).default('').meta(passwordWords),
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
