import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { imap } from '#shared/datasources/types/imap.ts';
import { certificates } from '#test/support/certificates.ts';
import { openDatasource } from '#test/support/connector.ts';
import { createOutbound } from '#workers/outbound/gate.ts';
import { type EmbeddedDovecot, startDovecot } from '../../../servers/dovecot.ts';

let dir: string;
let server: EmbeddedDovecot;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gantry-imap-'));
  const { server: certificate, serverKey: key } = certificates;
  server = await startDovecot({ dir, password: 'p', certificates: { certificate, key } });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

async function tryOut(changes: object, more = {}): Promise<void> {
  const caCertificate = certificates.authority;
  const account = { host: 'localhost', port: server.tlsPort, user: 'u', password: 'p', caCertificate };
  await using datasource = await openDatasource(imap, { ...account, ...changes }, more);
  await datasource.test();
}

test('a mail account is tested by signing in, encrypted or not', async () => {
  await tryOut({ security: 'tls' });
  await tryOut({ security: 'starttls', port: server.port });
  await tryOut({ security: 'none', port: server.port });
});

test.each([
  ['authentication', { password: 'the wrong secret' }],
  ['tls', { caCertificate: certificates.otherAuthority }],
  ['tls', { security: 'starttls', caCertificate: certificates.otherAuthority }],
  ['unreachable', { port: 1 }],
])('the reason of a failure is %s', async (reason, changes) => {
  const port = 'security' in changes ? { port: server.port } : {};
  const failure: Error = await tryOut({ ...port, ...changes }).then(
    () => new Error('it was accepted'),
    (error: Error) => error,
  );
  expect(failure).toMatchObject({ details: { reason } });
  expect(failure.message).not.toContain('secret');
});

test('the connection passes the gate, and is not made without the encryption that was asked for', async () => {
  await expect(tryOut({}, { outbound: createOutbound({ allow: [] }) })).rejects.toMatchObject({
    details: { reason: 'not-allowed' },
  });
  // A server that speaks no TLS on this port.
  await expect(tryOut({ port: server.port })).rejects.toMatchObject({ details: { reason: 'tls' } });
});
