import { z } from 'zod';
import { destination, secret } from '../../core/schema/secret.ts';
import { connectionName, host, optionalUserWords, passwordWords, port } from '../fields/connection.ts';
import { certificateFields } from '../fields/tls.ts';
import { defineDatasource } from './define-datasource.ts';

// The form of an address is checked after its templates are filled in: a template may be any part of it.
const address = z.string().min(1).max(1_000);
const addresses = z.union([address, z.array(address).max(500)]).default([]);

/** Email, sent through an SMTP server. */
export const smtp = defineDatasource({
  type: 'smtp',
  label: 'SMTP',
  category: 'mail',
  options: z.object({
    connectionName,
    host,
    port: port(587, '587 for `starttls`, 465 for `tls`'),
    security: destination(z.enum(['starttls', 'tls', 'none']))
      .default('starttls')
      .meta({
        title: 'Encryption',
        description:
          '`starttls`: encrypted before signing in, or the mail is not sent. `tls`: encrypted from the start. `none`: password and mails are sent unencrypted',
      }),
    user: z.string().max(255).default('').meta(optionalUserWords),
    password: secret(z.string()).default('').meta(passwordWords),
    from: z
      .string()
      .min(1)
      .max(1_000)
      .meta({ title: 'From', description: 'Sender of all mails, such as Orders <orders@example.com>' }),
    ...certificateFields,
  }),
  query: z.object({
    operation: z
      .literal('send')
      .default('send')
      .meta({ title: 'Operation', description: 'Always `send`: one mail is sent' }),
    to: addresses.meta({
      title: 'To',
      description: 'Recipients, such as name@example.com or Name <name@example.com>',
    }),
    cc: addresses.meta({ title: 'Cc', description: 'Recipients of a copy, whom all recipients see' }),
    bcc: addresses.meta({ title: 'Bcc', description: 'Recipients of a copy, whom the other recipients do not see' }),
    replyTo: addresses.meta({ title: 'Reply to', description: 'Where replies go. Empty: to the sender' }),
    subject: z.string().max(10_000).default('').meta({ title: 'Subject', description: 'One line of text' }),
    text: z.string().max(5_000_000).default('').meta({ title: 'Text', description: 'Body of the mail as plain text' }),
    html: z.string().max(5_000_000).default('').meta({
      title: 'HTML',
      description:
        'Body of the mail as HTML. With a text beside it, each recipient sees the one that the mail program prefers',
    }),
    attachments: z
      .array(
        z.object({
          filename: z
            .string()
            .min(1)
            .max(255)
            .meta({ title: 'File name', description: 'What recipients see, such as invoice.pdf' }),
          content: z.string().max(20_000_000).meta({ title: 'Content', description: 'Bytes of the file in Base64' }),
          contentType: z
            .string()
            .max(255)
            .default('application/octet-stream')
            .meta({ title: 'Content type', description: 'Media type of the file, such as application/pdf' }),
        }),
      )
      .max(50)
      .default([])
      .meta({ title: 'Attachments', description: 'Files that are sent with the mail, 15 MB together' }),
    headers: z.record(z.string(), z.string().max(2_000)).default({}).meta({
      title: 'Headers',
      description:
        'Further headers, such as the name X-Campaign with the value autumn; none that has a field of its own',
    }),
  }),
  templates: {},
  writes: ({ to }) => `a mail to ${[to].flat().join(', ')}`,
  defaults: {
    options: { host: 'smtp.example.com', port: 587, security: 'starttls', from: 'Gantry <gantry@example.com>' },
    query: { operation: 'send', to: ['recipient@example.com'], subject: 'Hello', text: 'Hello' },
  },
});
