import { z } from 'zod';
import { orderBy } from '../order-key.ts';
import { defineListener } from './define-listener.ts';

/** New messages of a mailbox. */
export const imap = defineListener({
  type: 'imap',
  label: 'Email',
  hasEndpoint: false,
  config: z.object({
    orderBy,
    mailbox: z
      .string()
      .min(1)
      .max(1_000)
      .default('INBOX')
      .meta({ title: 'Mailbox', description: 'Name of the folder that is read, such as INBOX' }),
    markSeen: z.boolean().default(true).meta({
      title: 'Mark as read',
      description: 'When the message is stored. Otherwise the mailbox is opened for reading only',
    }),
    maxAttachmentBytes: z.int().min(0).max(3_000_000).default(1_000_000).meta({
      title: 'Largest attachment (bytes)',
      description: 'The event has the content of smaller ones, and only the name and size of larger ones',
    }),
  }),
  defaults: { mailbox: 'INBOX' },
});
