import type { FetchMessageObject, ImapFlow, MailboxObject, MessageStructureObject } from 'imapflow';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { imap as imapDatasource } from '#shared/datasources/types/imap.ts';
import type { imap } from '#shared/triggers/listeners/types/imap.ts';
import { type ImapConnection, MAX_ANSWER_BYTES, openImap } from '../../../datasources/connectors/imap.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { answered, connecting } from './alive.ts';
import { eventOfMessage } from './imap-message.ts';
import type { SourceOf } from './source.ts';

type ImapSource = SourceOf<typeof imapDatasource, typeof imap>;
type Context = Parameters<ImapSource['receive']>[0];

/** Interval at which a silent server is asked: it may not announce new messages, or the connection may be lost. */
const POLL_MS = 20_000;
const MAX_MESSAGE_BYTES = MAX_ANSWER_BYTES / 2;
/** Messages whose metadata is fetched with one command. */
const HEADS_AT_ONCE = 200;
/** Bytes of the messages that are fetched with one command. */
const BYTES_AT_ONCE = 1_000_000;
/** Limit for content that is not Base64, and is therefore read line by line, which blocks the worker for half a second a megabyte. */
const MAX_LINES_BYTES = 500_000;

export const imapSource: ImapSource = {
  async receive(context) {
    const { options, services, signal } = context;
    const connection = await openImap(options, services.outbound, connecting(signal));
    try {
      await unlessAborted(signal, Promise.race([connection.lost, watch(connection, context)]));
    } finally {
      connection.close();
    }
  },
};

async function watch({ client, where }: ImapConnection, context: Context): Promise<never> {
  const { config, signal } = context;
  const mailbox = await answered(where, signal, openMailbox(client, config));
  let isDue = true;
  let wake: () => void = () => undefined;
  client.on('exists', () => {
    isDue = true;
    wake();
  });
  let position = startOf(context.cursor, mailbox);
  context.keepCursor(cursorOf(position));
  context.ready();
  while (true) {
    isDue = false;
    position = await readNew(client, { ...context, where }, position);
    if (isDue) continue;
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    const polled = setTimeout(resolve, POLL_MS);
    // The command IDLE ends with the next command.
    const idling = client.idle();
    try {
      await unlessAborted(signal, Promise.race([woken, idling.then(() => woken)]));
    } finally {
      clearTimeout(polled);
      idling.catch(() => undefined);
    }
    await answered(where, signal, client.noop());
  }
}

async function openMailbox(client: ImapFlow, { mailbox: name, markSeen }: Context['config']): Promise<MailboxObject> {
  let mailbox: MailboxObject;
  try {
    mailbox = await client.mailboxOpen(name, { readOnly: !markSeen });
  } catch (error) {
    throw new AppError('DB_ERROR', `The mailbox ${name} cannot be opened`, { cause: error });
  }
  if (markSeen && mailbox.readOnly)
    throw new AppError('DB_ERROR', `The mailbox ${name} can only be read: turn off listenerConfig.markSeen`);
  return mailbox;
}

/** Position up to which the mailbox was read. */
interface MailboxCursor {
  /** UIDVALIDITY of the mailbox: UIDs denote the same messages only while it does not change. */
  validity: string;
  lastUID: number;
  /** Time of the newest message that was read. */
  receivedAt: string;
  /** Set after the server has renumbered the mailbox: messages with a UID below `below`, received before `receivedAt`, are known. */
  known?: { below: number; receivedAt: string };
}

/** Position from which a connection reads. A mailbox that was never read begins at its end: only messages that arrive later are new. */
function startOf(cursor: JsonObject | undefined, { uidValidity, uidNext }: MailboxObject): MailboxCursor {
  const validity = String(uidValidity);
  if (cursor === undefined) return { validity, lastUID: uidNext - 1, receivedAt: inSeconds(Date.now()) };
  const before = cursor as unknown as MailboxCursor;
  if (before.validity === validity) return before;
  const { receivedAt } = before;
  return { validity, lastUID: 0, receivedAt, known: { below: uidNext, receivedAt } };
}

function cursorOf({ known, ...position }: MailboxCursor): JsonObject {
  return known && position.lastUID < known.below - 1 ? { ...position, known } : position;
}

type Reading = Context & { where: string };

async function readNew(client: ImapFlow, context: Reading, from: MailboxCursor): Promise<MailboxCursor> {
  const { where, signal } = context;
  let position = from;
  const found = await answered(where, signal, client.search({ uid: `${position.lastUID + 1}:*` }, { uid: true }));
  // In IMAP a range that ends with * always includes the last message, even if its UID is smaller.
  const uids = (found || []).filter((uid) => uid > from.lastUID).sort((one, other) => one - other);
  for (let at = 0; at < uids.length; at += HEADS_AT_ONCE) {
    const range = uids.slice(at, at + HEADS_AT_ONCE);
    const query = { uid: true, size: true, internalDate: true, bodyStructure: true };
    const heads = await answered(where, signal, client.fetchAll(range.join(','), query, { uid: true }));
    const isNew = (head: FetchMessageObject) => !isKnown(head, position);
    for (const group of groupsOf(heads.filter(isNew))) {
      await context.untilCapacity();
      await record(client, context, position.validity, group);
      const newest = [position.receivedAt, ...group.map(receivedAt)].sort().at(-1) ?? position.receivedAt;
      position = { ...position, lastUID: group.at(-1)?.uid ?? position.lastUID, receivedAt: newest };
      context.keepCursor(cursorOf(position));
    }
    position = { ...position, lastUID: range.at(-1) ?? position.lastUID };
  }
  return position;
}

/** Whether a message was read before the mailbox was renumbered. Servers give times in seconds: one of the same second is read again. */
function isKnown(head: FetchMessageObject, { known }: MailboxCursor): boolean {
  return known !== undefined && head.uid < known.below && receivedAt(head) < known.receivedAt;
}

/** Time of receipt, at most now: after a renumbering, a time in the future would make new messages count as known. */
function receivedAt({ internalDate = '' }: FetchMessageObject): string {
  return inSeconds(Math.min(new Date(internalDate).getTime() || 0, Date.now()));
}

function inSeconds(ms: number): string {
  return new Date(Math.floor(ms / 1_000) * 1_000).toISOString();
}

/** Groups of messages in the order of their UIDs: as many as may be in memory, and at least one. Only the first lines of a long message are read. */
function groupsOf(heads: readonly FetchMessageObject[]): FetchMessageObject[][] {
  const groups: FetchMessageObject[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const head of heads.toSorted((one, other) => one.uid - other.uid)) {
    const isLong = linesIn(head.bodyStructure) > MAX_LINES_BYTES;
    bytes += Math.min(head.size ?? 0, MAX_MESSAGE_BYTES);
    if (isLong || bytes > BYTES_AT_ONCE) {
      groups.push([]);
      bytes = Math.min(head.size ?? 0, MAX_MESSAGE_BYTES);
    }
    groups.at(-1)?.push(head);
    if (isLong) bytes = Number.POSITIVE_INFINITY;
  }
  return groups;
}

/** Bytes of the parts that are not Base64. */
function linesIn(part: MessageStructureObject | undefined): number {
  if (!part) return 0;
  if (part.childNodes && !part.type.startsWith('message/'))
    return part.childNodes.reduce((sum, one) => sum + linesIn(one), 0);
  return part.encoding === 'base64' ? 0 : (part.size ?? 0);
}

async function record(
  client: ImapFlow,
  { where, signal, config, record: store }: Reading,
  validity: string,
  group: readonly FetchMessageObject[],
): Promise<void> {
  const range = group.map(({ uid }) => uid).join(',');
  const isLong = group.some(({ bodyStructure }) => linesIn(bodyStructure) > MAX_LINES_BYTES);
  const maxLength = isLong ? MAX_LINES_BYTES : MAX_MESSAGE_BYTES;
  const query = { uid: true, size: true, internalDate: true, source: { maxLength } };
  const messages = await answered(where, signal, client.fetchAll(range, query, { uid: true }));
  await Promise.all(
    messages.map(async (message) => {
      const event = await eventOfMessage(message, config);
      const meta = { mailbox: config.mailbox, uid: message.uid, messageID: event.messageID };
      const body = Buffer.from(JSON.stringify(event));
      await store({ body, meta, contentType: 'application/json', key: `${config.mailbox} ${validity} ${message.uid}` });
    }),
  );
  // A refusal is ignored: the message may have been deleted by now.
  if (config.markSeen) await answered(where, signal, client.messageFlagsAdd(range, ['\\Seen'], { uid: true }));
}
