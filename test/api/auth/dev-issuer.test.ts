import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDevIssuer } from '#api/auth/dev-issuer.ts';
import { createTokenVerifier } from '#api/auth/user-token.ts';
import { startSmallApi } from '#test/support/small-api.ts';

describe('the development issuer', () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'gantry-issuer-'));
  });
  afterAll(() => rm(dir, { recursive: true }));

  const options = (file: string) => ({ keyFile: join(dir, file), production: false, issuer: undefined });

  test('two issuers that start at the same time share one key file, readable by its owner only', async () => {
    const [one, other] = await Promise.all([
      createDevIssuer(options('new/a.json')),
      createDevIssuer(options('new/a.json')),
    ]);

    const { token } = await one.issue('ada@example.com');
    expect(await createTokenVerifier(other)(token)).toMatchObject({ email: 'ada@example.com' });
    expect((await stat(join(dir, 'new/a.json'))).mode & 0o777).toBe(0o600);
    expect(await readdir(join(dir, 'new'))).toEqual(['a.json']);
    expect(JSON.stringify(one.jwks)).not.toContain('"d"');
  });

  test('gives an address one subject, in any capitals and with any key', async () => {
    const [one, other] = await Promise.all([createDevIssuer(options('b.json')), createDevIssuer(options('c.json'))]);
    const subject = async (issuer: typeof one, email: string) =>
      (await createTokenVerifier(issuer)((await issuer.issue(email)).token)).subject;

    expect(await subject(one, 'Ada@Example.com')).toBe(await subject(other, 'ada@example.com'));
    expect(await subject(one, 'ben@example.com')).not.toBe(await subject(one, 'ada@example.com'));
  });

  test('refuses to start in production, and beside a configured issuer', async () => {
    await expect(createDevIssuer({ ...options('d.json'), production: true })).rejects.toThrow('must not exist');
    await expect(createDevIssuer({ ...options('d.json'), issuer: 'https://id.example.com' })).rejects.toThrow(
      'must not exist',
    );
  });

  test('rejects a key file with other content', async () => {
    await writeFile(join(dir, 'e.json'), 'what');

    await expect(createDevIssuer(options('e.json'))).rejects.toThrow('does not hold');
  });

  test('issues a token for an hour to any caller on this machine', async () => {
    await using api = await startSmallApi([]);
    const answer = await api.send('POST', '/dev/token', { email: 'ada@example.com' });

    expect(answer.status).toBe(200);
    expect(Date.parse(answer.body.expiresAt) - Date.now()).toBeGreaterThan(3_590_000);
    expect(await api.context.access.authenticator.identify(`Bearer ${answer.body.token}`)).toMatchObject({
      email: 'ada@example.com',
    });
    expect((await api.send('GET', '/dev/jwks.json')).body.keys).toEqual([
      expect.objectContaining({ kty: 'EC', kid: expect.any(String) }),
    ]);
    expect(await api.send('POST', '/dev/token', { email: 'nobody' })).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR' } },
    });
    const forwarded = await api.send(
      'POST',
      '/dev/token',
      { email: 'ada@example.com' },
      { 'x-forwarded-for': '10.0.0.1' },
    );
    expect(forwarded).toMatchObject({ status: 403, body: { error: { code: 'PERMISSION_DENIED' } } });
  });

  test('has no routes unless it is enabled', async () => {
    await using api = await startSmallApi([], { DEV_ISSUER_KEY_FILE: '' });

    for (const [method, path] of [
      ['POST', '/dev/token'],
      ['GET', '/dev/jwks.json'],
    ] as const)
      expect(await api.send(method, path, method === 'POST' ? {} : undefined)).toMatchObject({
        status: 404,
        body: { error: { code: 'INVALID_REQUEST' } },
      });
  });
});
