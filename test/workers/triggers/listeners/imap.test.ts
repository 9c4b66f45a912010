import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ImapFlow } from 'imapflow';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { receiveEvents } from '#test/support/received-events.ts';
import { eventually } from '#test/support/settle.ts';
import { eventOfMessage } from '#workers/triggers/listeners/sources/imap-message.ts';
import { type EmbeddedDovecot, startDovecot } from '../../../servers/dovecot.ts';

let dir: string;
let server: EmbeddedDovecot;
let own: ImapFlow;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gantry-imap-'));
  server = await startDovecot({ dir, password: 'p' });
  own = new ImapFlow({
    ...{ host: '127.0.0.1', port: server.port, secure: false, logger: false },
    auth: { user: 'u', pass: 'p' },
  });
  await own.connect();
});
afterAll(async () => {
  own?.close();
  await server?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

/** A mailbox of the test's own, with one old message. */
async function aMailbox(): Promise<string> {
  const mailbox = newID();
  await own.mailboxCreate(mailbox);
  await own.append(mailbox, aMessage('old'));
  return mailbox;
}

function aMessage(subject: string, more = 'Content-Type: text/plain\r\n\r\nHello'): string {
  return `Message-ID: <${subject}@example.com>\r\nSubject: ${subject}\r\n${more}\r\n`;
}

function anAttachment(name: string, content: string): string[] {
  const headers = [`Content-Type: text/csv; name=${name}`, 'Content-Disposition: attachment'];
  return ['--x', ...headers, 'Content-Transfer-Encoding: base64', '', Buffer.from(content).toString('base64')];
}

function listen(
  mailbox: string,
  more: { config?: JsonObject; cursor?: JsonObject | undefined; isStored?: boolean } = {},
) {
  const options = { host: '127.0.0.1', port: server.port, security: 'none', user: 'u', password: 'p' };
  return receiveEvents('imap', { ...more, options, config: { mailbox, ...more.config } });
}

function bodies({ events }: { events: readonly { body: Buffer }[] }): Record<string, unknown>[] {
  return events.map(({ body }) => JSON.parse(body.toString()));
}

async function flagsIn(mailbox: string): Promise<Record<string, string[]>> {
  await own.mailboxOpen(mailbox);
  const messages = await own.fetchAll('1:*', { flags: true, envelope: true });
  return Object.fromEntries(messages.map(({ envelope, flags }) => [envelope?.subject, [...(flags ?? [])]]));
}

test('new messages become events, with attachments up to a size', async () => {
  const mailbox = await aMailbox();
  await using received = await listen(mailbox, { config: { maxAttachmentBytes: 10 } });
  await received.ready;
  const parts = [
    'From: =?utf-8?q?J=C3=B6rg?= <j@example.com>',
    'To: a@example.com, Team: b@example.com, c@example.com;',
    'Content-Type: multipart/mixed; boundary=x',
    '',
    '--x',
    'Content-Type: text/plain; charset=iso-8859-1',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'Gr=FC=DFe',
    ...anAttachment('small.csv', 'a,b'),
    ...anAttachment('large.csv', 'a,b,c,d,e,f,g'),
    '--x--',
  ];
  await own.append(mailbox, aMessage('new', parts.join('\r\n')));
  await eventually(() => expect(received.events).toHaveLength(1));

  const [event] = bodies(received);
  expect(event).toMatchObject({
    subject: 'new',
    messageID: '<new@example.com>',
    from: { name: 'Jörg', address: 'j@example.com' },
    to: ['a', 'b', 'c'].map((name) => ({ name: '', address: `${name}@example.com` })),
    text: expect.stringContaining('Grüße'),
    isTruncated: false,
    headers: expect.arrayContaining([{ name: 'subject', value: 'new' }]),
    attachments: [
      { filename: 'small.csv', contentType: 'text/csv', bytes: 3, content: Buffer.from('a,b').toString('base64') },
      { filename: 'large.csv', contentType: 'text/csv', bytes: 13, content: null },
    ],
  });
  expect(received.events[0]?.meta).toMatchObject({ mailbox, uid: 2, messageID: '<new@example.com>' });
});

test('a message is marked as read when it is stored and not before, or not at all', async () => {
  const mailbox = await aMailbox();
  await using marking = await listen(mailbox, { isStored: false });
  await using reading = await listen(mailbox, { config: { markSeen: false } });
  await Promise.all([marking.ready, reading.ready]);
  const before = marking.cursor;
  await own.append(mailbox, aMessage('new'));
  await eventually(() => expect([marking.events.length, reading.events.length]).toEqual([1, 1]));
  expect(await flagsIn(mailbox)).toEqual({ old: [], new: [] });
  expect(marking.cursor).toEqual(before);

  marking.store();
  await eventually(async () => expect(await flagsIn(mailbox)).toEqual({ old: [], new: ['\\Seen'] }));
  await eventually(() => expect(marking.cursor).toMatchObject({ lastUID: 2 }));
});

test('the next connection goes on where the last one was, also in a mailbox that is numbered anew', async () => {
  const mailbox = await aMailbox();
  let cursor: JsonObject | undefined;
  {
    await using first = await listen(mailbox);
    await first.ready;
    await own.append(mailbox, aMessage('first'));
    await eventually(() => expect(first.cursor).toMatchObject({ lastUID: 2 }));
    cursor = first.cursor;
  }
  await own.append(mailbox, aMessage('second'));
  {
    await using second = await listen(mailbox, { cursor });
    await eventually(() => expect(second.cursor).toMatchObject({ lastUID: 3 }));
    expect(bodies(second).map(({ subject }) => subject)).toEqual(['second']);
    cursor = second.cursor;
  }
  await own.mailboxDelete(mailbox);
  await own.mailboxCreate(mailbox);
  // As a backup brings them back, and one that came after.
  const days = (n: number) => new Date(Date.now() + n * 86_400_000);
  await own.append(mailbox, aMessage('later'), [], new Date());
  await own.append(mailbox, aMessage('first'), [], days(-2));
  {
    await using third = await listen(mailbox, { cursor });
    await third.ready;
    await own.append(mailbox, aMessage('moved here'), [], days(-30));
    await eventually(() => expect(third.cursor).toMatchObject({ lastUID: 3 }));
    expect(bodies(third).map(({ subject }) => subject)).toEqual(['later', 'moved here']);
  }
});

test('a large message is read in part, and one that is hostile stops nothing', async () => {
  const mailbox = await aMailbox();
  await using received = await listen(mailbox);
  await received.ready;
  const large = [
    'Content-Type: multipart/mixed; boundary=x',
    '',
    '--x',
    '',
    'the text',
    ...anAttachment('a.txt', 'a'.repeat(4e6)),
  ];
  await own.append(mailbox, aMessage('large', [...large, '--x--'].join('\r\n')));
  await own.append(mailbox, aMessage('long', `\r\n${`${'a'.repeat(78)}\r\n`.repeat(7_000)}`));
  const nested = Array.from(
    { length: 300 },
    (_, n) => `Content-Type: multipart/mixed; boundary=x${n}\r\n\r\n--x${n}\r\n`,
  );
  await own.append(mailbox, aMessage('nested', nested.join('')));
  await own.append(mailbox, aMessage('last'));
  await eventually(() => expect(received.events).toHaveLength(4));
  const [first, long, second, third] = bodies(received).sort((one, other) => Number(one.uid) - Number(other.uid));
  expect(first).toMatchObject({
    subject: 'large',
    isTruncated: true,
    text: expect.stringContaining('the text'),
    attachments: [{ filename: 'a.txt', content: null }],
  });
  expect(long).toMatchObject({ subject: 'long', isTruncated: true, text: expect.stringMatching(/^a{78}\n/) });
  expect(second).toMatchObject({ unreadable: expect.any(String) });
  expect(third).toMatchObject({ subject: 'last' });
});

test('a message whose date the server spells wrongly is an event without that date', async () => {
  const source = Buffer.from(aMessage('odd'));
  const message = { seq: 1, uid: 7, size: source.length, source, internalDate: '31-Foo-2026 25:00:00 +0000' };

  const event = await eventOfMessage(message, { maxAttachmentBytes: 0 });

  expect(event).toMatchObject({ uid: 7, receivedAt: null, subject: 'odd' });
});

test('a mailbox that is not there or may only be read is named', async () => {
  await using received = await listen('no such');
  await expect(received.ready).rejects.toThrow('The mailbox no such cannot be opened');
});
