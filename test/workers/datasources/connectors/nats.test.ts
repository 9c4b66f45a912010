import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { AppError } from '#shared/core/errors.ts';
import { nats } from '#shared/datasources/types/nats.ts';
import { certificates } from '#test/support/certificates.ts';
import { openDatasource } from '#test/support/connector.ts';
import { reservedBy } from '#test/support/reserved-bytes.ts';
import { startTCP } from '#test/support/tcp.ts';
import { createOutbound } from '#workers/outbound/gate.ts';
import { findNats, startNats } from '../../../servers/nats.ts';
import type { TiedServer } from '../../../servers/tied-server.ts';

const found = await findNats();
if (found.path === null) process.stderr.write(`The tests of nats are skipped: ${found.reason}\n`);

describe.skipIf(found.path === null)('nats', () => {
  let dir: string;
  let server: TiedServer;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'gantry-nats-'));
    server = await startNats({
      dir,
      config:
        'max_payload: 1000\nauthorization { users = [ { user: u, password: right-secret, permissions: { publish: { deny: "no.>" } } } ] }',
    });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  const open = (changes: object = {}, more = {}) =>
    openDatasource(nats, { servers: `localhost:${server.port}`, user: 'u', pass: 'right-secret', ...changes }, more);
  const listen = () => connect({ servers: `127.0.0.1:${server.port}`, user: 'u', pass: 'right-secret' });

  test('published messages arrive, and requests are answered', async () => {
    await using datasource = await open();
    await datasource.test();
    const other = await listen();
    const got: string[] = [];
    other.subscribe('heard', {
      callback: (_error, message) => void got.push(Buffer.from(message.data).toString('hex')),
    });
    other.subscribe('echo', { callback: (_error, message) => void message.respond(message.data) });
    await other.flush();

    for (const [payload, encoding] of [
      ['Grüße', 'text'],
      [{ n: null, big: '9007199254740993' }, 'text'],
      ['/wAB', 'base64'],
    ] as const) {
      const inputs = { payload };
      await datasource.execute(
        { operation: 'publish', subject: 'heard', payload: '{{inputs.payload}}', encoding },
        inputs,
      );
      const request = () =>
        datasource.execute({ operation: 'request', subject: 'echo', payload: '{{inputs.payload}}', encoding }, inputs);
      const { data } = await request();
      expect(await reservedBy(request)).toBeGreaterThan(0);
      expect(data).toMatchObject({ payload: typeof payload === 'string' ? payload : JSON.stringify(payload) });
    }

    await expect.poll(() => got).toHaveLength(3);
    expect(got[2]).toBe('ff0001');
    await other.close();
  });

  test('a missing responder, a missing permission and an excess size have different errors', async () => {
    await using datasource = await open();

    await expect(datasource.execute({ operation: 'request', subject: 'nobody' })).rejects.toMatchObject({
      code: 'DB_ERROR',
      details: { issues: [{ path: ['subject'] }] },
    });
    await expect(datasource.execute({ operation: 'publish', subject: 'no.way' })).rejects.toMatchObject({
      code: 'DB_ERROR',
      details: { issues: [{ path: ['subject'] }] },
    });
    await expect(
      datasource.execute({ operation: 'publish', subject: 'a', payload: 'x'.repeat(2_000) }),
    ).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    expect(await datasource.execute({ operation: 'publish', subject: 'a' })).toMatchObject({ affectedRows: 1 });
  });

  test('a value is one part of a subject', async () => {
    await using datasource = await open();
    for (const v of ['a 5\r\nPUB b 1\r\nx', 'a\nb', 'a b', 'a.*', '>', 'a..b'])
      await expect(
        datasource.execute({ operation: 'publish', subject: '{{inputs.v}}' }, { v }),
        JSON.stringify(v),
      ).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('a request ends when aborted, and a late reply is ignored', async () => {
    await using datasource = await open();
    const other = await listen();
    other.subscribe('mute');
    await other.flush();
    const query = { operation: 'request', subject: 'mute' } as const;

    await expect(datasource.execute({ ...query, replyTimeoutMs: 100 })).rejects.toMatchObject({
      code: 'UPSTREAM_TIMEOUT',
    });
    await expect(datasource.execute(query, {}, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({
      code: 'UPSTREAM_TIMEOUT',
      details: { reason: 'timeout' },
    });
    await datasource.test();
    await other.close();
  });

  test('many concurrent messages arrive, also after the server was killed', async () => {
    await using datasource = await open();
    const query = { operation: 'publish', subject: 'a' } as const;
    await Promise.all(Array.from({ length: 50 }, () => datasource.execute(query)));
    await server.kill9();

    // The client may notice the end of the connection before or after it sends.
    const inTime = { signal: AbortSignal.timeout(2_000) };
    const error = await datasource.execute(query, {}, inTime).catch((failure: unknown) => failure);
    const isTimeout = error instanceof AppError && error.code === 'UPSTREAM_TIMEOUT';
    expect(error).toMatchObject(
      isTimeout ? { code: 'UPSTREAM_TIMEOUT', details: { reason: 'timeout' } } : { code: 'UPSTREAM_FAILED' },
    );

    await server.restart();
    expect(await datasource.execute(query)).toMatchObject({ affectedRows: 1 });
  });

  test('a wrong password, port and certificate have different errors, without the secret', async () => {
    await using silent = await startTCP();
    const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
    await writeFile(cert, certificates.server);
    await writeFile(key, certificates.serverKey);
    await using encrypted = await startNats({ dir, config: `tls { cert_file: "${cert}", key_file: "${key}" }` });
    const tls = { servers: `localhost:${encrypted.port}`, useTLS: true, user: '', pass: '' };
    await using right = await open({ ...tls, caCertificate: certificates.authority });
    await right.test();

    const wrong: [object, string][] = [
      [{ pass: 'wrong-secret' }, 'authentication'],
      [{ user: '', token: 'wrong-secret' }, 'authentication'],
      [{ servers: `localhost:${await freePort()}` }, 'unreachable'],
      [{ servers: `localhost:${silent.port}` }, 'timeout'],
      [{ useTLS: true }, 'tls'],
      [{ ...tls, caCertificate: certificates.otherAuthority }, 'tls'],
      [{ ...tls, caCertificate: certificates.authority, servers: `127.0.0.1:${encrypted.port}` }, 'tls'],
    ];
    for (const [changes, reason] of wrong) {
      await using datasource = await open(changes);
      const signal = AbortSignal.timeout(reason === 'timeout' ? 500 : 10_000);
      const error = await datasource.test(signal).catch((failure: unknown) => failure);
      expect(error, JSON.stringify(changes)).toMatchObject({
        code: reason === 'timeout' ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_FAILED',
        details: { reason },
      });
      expect(inspect(error, { depth: 9 })).not.toContain('wrong-secret');
    }
  });

  test('an address that is not allowed is not connected to', async () => {
    await using datasource = await open({}, { outbound: createOutbound({ allow: [] }) });

    await expect(datasource.test()).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
  });
});
