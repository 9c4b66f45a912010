import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { smtp } from '#shared/datasources/types/smtp.ts';
import { certificates } from '#test/support/certificates.ts';
import { openDatasource } from '#test/support/connector.ts';
import { startTCP } from '#test/support/tcp.ts';
import { createOutbound } from '#workers/outbound/gate.ts';

interface Mail {
  from: string;
  to: string[];
  isSecure: boolean;
  user: string | undefined;
  text: string;
}

/** A mail server that stores what it receives. */
async function startMail(options: SMTPServerOptions = {}) {
  const mails: Mail[] = [];
  let ended = 0;
  const server = new SMTPServer({
    cert: certificates.server,
    key: certificates.serverKey,
    authOptional: true,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      password === 'right-secret' ? done(null, { user: username ?? '' }) : done(new Error(`not ${password}`)),
    onData(stream, session, done) {
      stream
        .setEncoding('utf8')
        .toArray()
        .then((parts) => {
          mails.push({ ...sent(session), text: parts.join('') });
          done();
        }, done);
    },
    onClose: () => {
      ended += 1;
    },
    ...options,
  });
  server.on('error', () => undefined);
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return {
    port: (listening.address() as AddressInfo).port,
    mails,
    ended: () => ended,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function sent({ envelope, secure, user }: SMTPServerSession): Omit<Mail, 'text'> {
  return {
    from: envelope.mailFrom ? envelope.mailFrom.address : '',
    to: envelope.rcptTo.map(({ address }) => address),
    isSecure: secure,
    user,
  };
}

const open = (port: number, changes: object = {}, more = {}) =>
  openDatasource(
    smtp,
    {
      host: 'localhost',
      port,
      security: 'starttls',
      user: 'postman',
      password: 'right-secret',
      from: 'Gantry <gantry@example.com>',
      caCertificate: certificates.authority,
      ...changes,
    },
    more,
  );

test.each(['starttls', 'tls', 'none'])('a mail arrives unchanged, with %s', async (security) => {
  await using server = await startMail({ secure: security === 'tls' });
  await using mail = await open(server.port, { security });
  await mail.test();

  const { data } = await mail.execute(
    {
      to: ['Zoë <zoe@example.com>', '{{inputs.other}}'],
      cc: 'carl@example.com',
      bcc: ['hidden@example.com'],
      replyTo: 'reply@example.com',
      subject: 'Grüße an {{inputs.name}}',
      text: 'text for {{inputs.name}}',
      html: '<p>html</p>',
      headers: { 'X-Ticket': '7' },
      attachments: [{ filename: 'a.bin', content: '/wAB', contentType: 'application/pdf' }],
    },
    { name: 'Zoë', other: 'o@example.com' },
    { idempotencyKey: 'run.node.1' },
  );

  const [got] = server.mails;
  expect(got).toMatchObject({
    from: 'gantry@example.com',
    to: ['zoe@example.com', 'o@example.com', 'carl@example.com', 'hidden@example.com'],
    isSecure: security !== 'none',
    user: 'postman',
  });
  const text = got?.text ?? '';
  expect(text).not.toContain('hidden@');
  for (const part of ['X-Ticket: 7', 'filename=a.bin', '/wAB', '<p>html</p>', 'Reply-To: reply@example.com'])
    expect(text).toContain(part);
  const { messageID } = data as { messageID: string };
  expect(text).toContain(`Message-ID: ${messageID}`);
  expect(data).toMatchObject({ accepted: expect.arrayContaining(['zoe@example.com']), rejected: [] });
});

test('attempts of the same work have the same Message-ID, other work has another', async () => {
  await using server = await startMail();
  await using mail = await open(server.port);
  const idOf = async (idempotencyKey: string | null) =>
    ((await mail.execute({ to: 'a@example.com' }, {}, { idempotencyKey })).data as { messageID: string }).messageID;

  const [first, again, other, none] = [await idOf('a'), await idOf('a'), await idOf('b'), await idOf(null)];

  expect(again).toBe(first);
  expect(new Set([first, other, none]).size).toBe(3);
});

test('no value adds a header, recipient, command or file', async () => {
  await using server = await startMail();
  await using mail = await open(server.port);
  const bad: [object, string][] = [
    [{ to: '{{inputs.v}}' }, 'a@example.com, evil@example.com'],
    [{ to: '{{inputs.v}}' }, 'a@example.com>\r\nRCPT TO:<evil@example.com'],
    [{ to: ['x <{{inputs.v}}>'] }, 'a@example.com\nBcc: evil@example.com'],
    [{ to: '{{inputs.v}} <a@example.com>' }, 'x\r\nBcc: evil@example.com'],
    [{ to: 'a@example.com', subject: '{{inputs.v}}' }, 'x\r\nBcc: evil@example.com'],
    [{ to: 'a@example.com', headers: { 'X-A': '{{inputs.v}}' } }, 'x\nBcc: evil@example.com'],
    [{ to: 'a@example.com', headers: { 'X-A\r\nBcc': '{{inputs.v}}' } }, 'evil@example.com'],
    [{ to: 'a@example.com', headers: { bcc: '{{inputs.v}}' } }, 'evil@example.com'],
    [{ to: 'a@example.com', attachments: [{ filename: '{{inputs.v}}', content: '' }] }, 'a\r\nX: y'],
    [{ to: 'a@example.com', attachments: [{ filename: 'a', content: '{{inputs.v}}' }] }, '/etc/passwd?'],
    [{}, 'x'],
  ];
  for (const [query, v] of bad)
    await expect(mail.execute(query as never, { v }), JSON.stringify(query)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    });

  await mail.execute(
    { to: 'a@example.com', text: '{{inputs.v}}' },
    { v: 'a\r\n.\r\nMAIL FROM:<evil@example.com>\r\n' },
  );

  expect(server.mails.map(({ to }) => to)).toEqual([['a@example.com']]);
});

test('a wrong password, host, certificate and port have different errors, without the secret', async () => {
  await using server = await startMail();
  await using plain = await startMail({ disabledCommands: ['STARTTLS'] });
  await using silent = await startTCP((socket) => socket.end('554 go away\r\n'));
  const wrong: [number, object, string][] = [
    [server.port, { password: 'wrong-secret' }, 'authentication'],
    [server.port, { caCertificate: certificates.otherAuthority }, 'tls'],
    [server.port, { host: '127.0.0.1' }, 'tls'],
    [plain.port, {}, 'tls'],
    [await freePort(), {}, 'unreachable'],
    [silent.port, {}, 'refused'],
  ];
  for (const [port, changes, reason] of wrong) {
    await using mail = await open(port, changes);
    const error = await mail.test().catch((failure: unknown) => failure);
    expect(error, JSON.stringify(changes)).toMatchObject({ code: 'UPSTREAM_FAILED', details: { reason } });
    expect(inspect(error, { depth: 9 })).not.toContain('wrong-secret');
  }
});

test('a refusal of the server is reported with its status', async () => {
  await using server = await startMail({
    onRcptTo: ({ address }, _session, done) =>
      address.startsWith('no') ? done(Object.assign(new Error('no such mailbox'), { responseCode: 550 })) : done(),
  });
  await using mail = await open(server.port);

  expect(await mail.execute({ to: ['yes@example.com', 'no@example.com'] })).toMatchObject({
    data: { accepted: ['yes@example.com'], rejected: ['no@example.com'] },
  });
  await expect(mail.execute({ to: 'no@example.com' })).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    retry: false,
    details: { status: 550 },
  });
});

test('a connection lost after the message began leaves the outcome unknown, and is not retried', async () => {
  await using server = await startMail({ onData: (stream) => stream.on('end', () => stream.emit('cut')).resume() });
  await using mail = await open(server.port);

  const stopped = mail.execute({ to: 'a@example.com', text: 'x' }, {}, { signal: AbortSignal.timeout(1_000) });

  await expect(stopped).rejects.toMatchObject({ retry: false, details: { reason: 'lost' } });
  await expect.poll(() => server.ended()).toBe(1);
});

test('a silent server delays the caller no longer than its time limit, and sees the connection end', async () => {
  await using silent = await startTCP();
  await using mail = await open(silent.port, { security: 'none' });

  await expect(mail.execute({ to: 'a@example.com' }, {}, { signal: AbortSignal.timeout(200) })).rejects.toMatchObject({
    code: 'UPSTREAM_TIMEOUT',
    retry: true,
    details: { reason: 'timeout' },
  });
});

test('ten concurrent mails arrive, and mail is sent again when the server is back', async () => {
  const first = await startMail();
  await using mail = await open(first.port, { security: 'none' });
  await Promise.all(Array.from({ length: 10 }, (_, n) => mail.execute({ to: `n${n}@example.com` })));
  expect(first.mails).toHaveLength(10);
  await first[Symbol.asyncDispose]();

  await expect(mail.execute({ to: 'a@example.com' })).rejects.toMatchObject({ details: { reason: 'unreachable' } });

  const again = new SMTPServer({
    cert: certificates.server,
    key: certificates.serverKey,
    authOptional: true,
    allowInsecureAuth: true,
    onAuth: (_a, _s, done) => done(null, { user: 'u' }),
  });
  await once(again.listen(first.port, '127.0.0.1'), 'listening');
  await mail.test();
  await new Promise<void>((resolve) => again.close(() => resolve()));
});

test('an address that is not allowed is not connected to', async () => {
  await using mail = await open(25, {}, { outbound: createOutbound({ allow: [] }) });

  await expect(mail.test()).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
});
