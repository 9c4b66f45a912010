import type { FetchMessageObject } from 'imapflow';
import PostalMime, { type Address, type Attachment, type Email } from 'postal-mime';
import type { JsonObject } from '#shared/core/json.ts';

interface Limits {
  maxAttachmentBytes: number;
}

/** Limits of the parser: messages with deeper nesting or larger headers are made by attackers to block it. */
const PARSING = { maxNestingDepth: 50, maxHeadersSize: 100_000, forceRfc822Attachments: true };

/** Converts a message to an event. If it cannot be parsed, the event has only the metadata from the server. */
export async function eventOfMessage(
  { uid, size = 0, internalDate = new Date(0), source = Buffer.alloc(0) }: FetchMessageObject,
  { maxAttachmentBytes }: Limits,
): Promise<JsonObject & { messageID: string | null }> {
  const isTruncated = source.length < size;
  const about = { uid, bytes: size, receivedAt: timeOf(internalDate), isTruncated };
  let email: Email;
  try {
    email = await PostalMime.parse(source, PARSING);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ...about, messageID: null, unreadable: why.slice(0, 500) };
  }
  // A truncated message has no contents of attachments, because the last one would be incomplete.
  const most = isTruncated ? -1 : maxAttachmentBytes;
  return {
    ...about,
    messageID: email.messageId ?? null,
    inReplyTo: email.inReplyTo ?? null,
    sentAt: email.date ?? null,
    subject: email.subject ?? '',
    from: listOf(email.from && [email.from])[0] ?? null,
    replyTo: listOf(email.replyTo),
    to: listOf(email.to),
    cc: listOf(email.cc),
    text: email.text ?? '',
    html: email.html ?? '',
    headers: email.headers.map(({ key, value }) => ({ name: key, value })),
    attachments: email.attachments.map((attachment) => presentAttachment(attachment, most)),
  };
}

/** Null if the server's date is invalid: `toISOString` would throw, and the listener would never get past this message. */
function timeOf(date: Date | string): string | null {
  const time = new Date(date);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** The members of a group count as addresses of their own. */
function listOf(addresses: readonly Address[] = []): { name: string; address: string }[] {
  return addresses.flatMap((entry) => (entry.group ?? [entry]).map(({ name, address = '' }) => ({ name, address })));
}

function presentAttachment({ filename, mimeType, contentId, content }: Attachment, maxBytes: number): JsonObject {
  const bytes = bytesOf(content);
  return {
    filename: filename ?? '',
    contentType: mimeType,
    contentID: contentId ?? null,
    bytes: bytes.length,
    // Base64.
    content: bytes.length <= maxBytes ? bytes.toString('base64') : null,
  };
}

function bytesOf(content: Attachment['content']): Buffer {
  if (typeof content === 'string') return Buffer.from(content);
  return content instanceof Uint8Array
    ? Buffer.from(content.buffer, content.byteOffset, content.byteLength)
    : Buffer.from(content);
}
