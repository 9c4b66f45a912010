import { z } from 'zod';
import { destination, secret } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { certificateFields } from './tls.ts';

// The form of an address is checked after its templates are filled in: a template may be any part of it.
const address = z.string().min(1).max(1_000);
const addresses = z
  .union([address, z.array(address).max(500)])
  .default([])
  .meta({ description: 'name@example.com or Name <name@example.com>; several as a list' });

/** Email, sent through an SMTP server. */
export const smtp = defineDatasource({
  type: 'smtp',
  label: 'SMTP',
  category: 'mail',
  options: z.object({
    connectionName: z.string().max(255).optional().meta({ title: 'Name' }),
    host: destination(z.string().min(1).max(253)).meta({ title: 'Host' }),
    port: destination(z.int().min(1).max(65_535)).default(587).meta({ title: 'Port' }),
    security: destination(z.enum(['starttls', 'tls', 'none']))
      .default('starttls')
      .meta({ title: 'Encryption', description: 'tls from the start (465), starttls (587), or none' }),
    user: z.string().max(255).default('').meta({ title: 'User' }),
    password: secret(z.string()).default('').meta({ title: 'Password' }),
    from: z.string().min(1).max(1_000).meta({ title: 'From', description: 'Name <name@example.com>' }),
    ...certificateFields,
  }),
  query: z.object({
    operation: z.literal('send').default('send').meta({ title: 'Operation' }),
    to: addresses.meta({ title: 'To' }),
    cc: addresses.meta({ title: 'Cc' }),
    bcc: addresses.meta({ title: 'Bcc' }),
    replyTo: addresses.meta({ title: 'Reply to' }),
    subject: z.string().max(10_000).default('').meta({ title: 'Subject' }),
    text: z.string().max(5_000_000).default('').meta({ title: 'Text' }),
    html: z.string().max(5_000_000).default('').meta({ title: 'HTML' }),
    attachments: z
      .array(
        z.object({
          filename: z.string().min(1).max(255).meta({ title: 'File name' }),
          content: z.string().max(20_000_000).meta({ title: 'Content', description: 'Base64' }),
          contentType: z.string().max(255).default('application/octet-stream').meta({ title: 'Content type' }),
        }),
      )
      .max(50)
      .default([])
      .meta({ title: 'Attachments' }),
    headers: z.record(z.string(), z.string().max(2_000)).default({}).meta({ title: 'Headers' }),
  }),
  templates: {},
  writes: ({ to }) => `a mail to ${[to].flat().join(', ')}`,
  defaults: {
    options: { host: 'smtp.example.com', port: 587, security: 'starttls', from: 'Gantry <gantry@example.com>' },
    query: { operation: 'send', to: ['recipient@example.com'], subject: 'Hello', text: 'Hello' },
  },
});
