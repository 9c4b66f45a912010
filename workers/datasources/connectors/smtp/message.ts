import { hash } from 'node:crypto';
import MailComposer from 'nodemailer/lib/mail-composer';
import type { z } from 'zod';
import { newID } from '#shared/core/ids.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { smtp } from '#shared/datasources/types/smtp.ts';

type Query = z.output<(typeof smtp)['query']>;

export interface Message {
  from: string;
  recipients: string[];
  messageID: string;
  bytes: Buffer;
}

interface Address {
  name: string;
  address: string;
}

const MAX_ATTACHMENTS = 15 * 1024 * 1024;

/** Composes the bytes of a mail. No value of the query can add a header, a recipient or a command of SMTP. */
export async function composeMessage(query: Query, from: string, idempotencyKey: string | null): Promise<Message> {
  const sender = addressOf('datasourceOptions.from', from);
  const [to, cc, bcc] = [addressesOf('to', query.to), addressesOf('cc', query.cc), addressesOf('bcc', query.bcc)];
  const recipients = [...new Set([...to, ...cc, ...bcc].map(({ address }) => address))];
  if (recipients.length === 0) throw invalidField('to', 'there must be a recipient in to, cc or bcc');

  const id = idempotencyKey === null ? newID() : hash('sha256', idempotencyKey).slice(0, 40);
  const messageID = `<${id}@${sender.address.slice(sender.address.lastIndexOf('@') + 1)}>`;
  // Bcc is left out of the message, so that its readers do not see those recipients.
  const composer = new MailComposer({
    from: sender,
    to,
    cc,
    replyTo: addressesOf('replyTo', query.replyTo),
    subject: oneLine('subject', query.subject),
    messageId: messageID,
    headers: headersOf(query.headers),
    attachments: attachmentsOf(query.attachments),
    ...(query.text === '' && query.html !== '' ? {} : { text: query.text }),
    ...(query.html !== '' && { html: query.html }),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return { from: sender.address, recipients, messageID, bytes: await composer.compile().build() };
}

/** Each text is one address: a list separated by commas could add recipients by a value. */
function addressesOf(field: string, texts: string | string[]): Address[] {
  if (typeof texts === 'string') return [addressOf(field, texts)];
  return texts.map((text, index) => addressOf(`${field}.${index}`, text));
}

function addressOf(field: string, text: string): Address {
  const named = /^([^<>]*)<([^<>]*)>$/.exec(text.trim());
  const name = oneLine(field, (named?.[1] ?? '').trim().replace(/^"(.*)"$/, '$1'));
  const address = (named?.[2] ?? text).trim();
  if (!/^[^\s<>()[\],;:"\\@\p{Cc}]{1,64}@[^\s<>()[\],;:"\\@\p{Cc}]{1,253}$/u.test(address))
    throw invalidField(field, 'must be one address, name@example.com or Name <name@example.com>');
  return { name, address };
}

function oneLine(field: string, text: string): string {
  if (/[\r\n\0\u2028\u2029]/.test(text)) throw invalidField(field, 'must not have a line break');
  return text;
}

/** Headers that are made from other fields of the query or by this service, so that `headers` must not set them. */
const reservedHeaders =
  /^(?:from|to|cc|bcc|sender|reply-to|subject|date|message-id|return-path|received|mime-version|dkim-.*|arc-.*|resent-.*|content-.*)$/i;

function headersOf(headers: Query['headers']): { key: string; value: string }[] {
  return Object.entries(headers).map(([key, value]) => {
    if (!/^[A-Za-z0-9-]{1,70}$/.test(key))
      throw invalidField('headers', `"${key.slice(0, 70)}" is not the name of a header`);
    if (reservedHeaders.test(key)) throw invalidField('headers', `${key} cannot be set here`);
    return { key, value: oneLine(`headers.${key}`, value) };
  });
}

function attachmentsOf(attachments: Query['attachments']) {
  let size = 0;
  return attachments.map(({ filename, content, contentType }, index) => {
    const field = `attachments.${index}`;
    const text = content.replaceAll(/\s/g, '');
    if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text))
      throw invalidField(`${field}.content`, 'must be base64');
    if (!/^[\w.+-]+\/[\w.+-]+$/.test(contentType))
      throw invalidField(`${field}.contentType`, 'must be like application/pdf');
    const bytes = Buffer.from(text, 'base64');
    size += bytes.length;
    if (size > MAX_ATTACHMENTS) throw invalidField('attachments', 'must not be larger than 15 MB together');
    return { filename: oneLine(`${field}.filename`, filename), content: bytes, contentType };
  });
}
