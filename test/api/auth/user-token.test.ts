import { SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createRemoteIssuer } from '#api/auth/trusted-issuer.ts';
import { createTokenVerifier, type VerifyToken } from '#api/auth/user-token.ts';
import type { ErrorCode } from '#shared/core/errors.ts';
import { testLogger } from '#test/support/environment.ts';
import { type IdentityProvider, startIdentityProvider } from '#test/support/identity-provider.ts';

const audience = 'gantry';

describe('a user token', () => {
  let provider: IdentityProvider;
  let verify: VerifyToken;
  beforeEach(async () => {
    provider = await startIdentityProvider({ audience });
    verify = verifier();
  });
  afterEach(async () => {
    vi.useRealTimers();
    await provider[Symbol.asyncDispose]();
  });

  function verifier(more: { jwksURL?: string; issuer?: string } = {}): VerifyToken {
    return createTokenVerifier(createRemoteIssuer({ issuer: provider.issuer, audience, ...more }, testLogger));
  }

  function refused(code: ErrorCode) {
    return expect.objectContaining({ code });
  }

  const seconds = (offset: number) => Math.floor(Date.now() / 1_000) + offset;

  test('names the same user as the provider does', async () => {
    const token = await provider.token({ given_name: 'Ada', family_name: 'L' });

    expect(await verify(token)).toEqual({
      issuer: provider.issuer,
      subject: 'ada',
      isEmailVerified: false,
      email: 'ada@example.com',
      firstName: 'Ada',
      lastName: 'L',
    });
    expect(await verify(token)).toMatchObject({ subject: 'ada' });
    expect(provider.fetches).toBe(1);
  });

  test('is rejected as expired half a minute after its end', async () => {
    await verify(await provider.token({ exp: seconds(-20) }));

    await expect(verify(await provider.token({ exp: seconds(-31) }))).rejects.toEqual(
      refused('USER_AUTH_TOKEN_EXPIRED'),
    );
  });

  test('is rejected as expired although it was accepted before', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const token = await provider.token({ exp: seconds(10) });
    await verify(token);

    vi.setSystemTime(Date.now() + 39_000);
    await verify(token);
    vi.setSystemTime(Date.now() + 2_000);
    await expect(verify(token)).rejects.toEqual(refused('USER_AUTH_TOKEN_EXPIRED'));
  });

  test('is rejected when any part of it is wrong', async () => {
    const good = await provider.token();
    const [head = '', body = '', signature = ''] = good.split('.');
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { iss: provider.issuer, aud: audience, sub: 'ada', exp: seconds(600) };
    const secret = new TextEncoder().encode(await provider.publicKeyText());
    const bad = {
      'another issuer': await provider.token({ iss: 'https://evil.example.com' }),
      'another audience': await provider.token({ aud: 'other' }),
      'no subject': await provider.token({ sub: undefined }),
      'an empty subject': await provider.token({ sub: '' }),
      'a subject Postgres cannot hold': await provider.token({ sub: 'a\0b' }),
      'no end': await provider.token({ exp: undefined }),
      'not yet': await provider.token({ nbf: seconds(60) }),
      'expired, and another audience': await provider.token({ exp: seconds(-600), aud: 'other' }),
      'no signature': `${encode({ alg: 'none' })}.${body}.`,
      'a shared secret': await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'key-1' }).sign(secret),
      'another body': `${head}.${encode({ ...claims, sub: 'root' })}.${signature}`,
      'a changed signature': `${head}.${body}.${signature.slice(0, -6)}AAAAAA`,
      'an unknown key': `${encode({ alg: 'RS256', kid: 'other' })}.${body}.${signature}`,
      nonsense: 'nonsense',
      'three parts of nonsense': 'a.b.c',
    };

    for (const [what, token] of Object.entries(bad))
      await expect(verify(token), what).rejects.toEqual(refused('USER_AUTH_TOKEN_NOT_FOUND'));
  });

  test('does not store an address that the provider has not verified', async () => {
    expect(await verify(await provider.token({ email_verified: false }))).toMatchObject({ email: null });
    expect(await verify(await provider.token({ email_verified: true }))).toMatchObject({ email: 'ada@example.com' });
    expect(await verify(await provider.token({ email: 7 }))).toMatchObject({ email: null });

    const isVerified = async (claims: Record<string, unknown>) =>
      (await verify(await provider.token(claims))).isEmailVerified;
    expect(await isVerified({ email_verified: true })).toBe(true);
    expect(await isVerified({ email_verified: 'true' })).toBe(true);
    for (const said of [undefined, false, 'false', null, 1, 'yes'])
      expect(await isVerified({ email_verified: said }), String(said)).toBe(false);
    expect(await isVerified({ email: 7, email_verified: true })).toBe(false);
  });

  test('of a new key is accepted, and unknown keys do not cause repeated fetches', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    await verify(await provider.token());
    await provider.rotate();
    const token = await provider.token();
    await expect(verify(token)).rejects.toEqual(refused('USER_AUTH_TOKEN_NOT_FOUND'));
    await expect(verify(token)).rejects.toEqual(refused('USER_AUTH_TOKEN_NOT_FOUND'));
    expect(provider.fetches).toBe(1);

    vi.setSystemTime(Date.now() + 31_000);
    await verify(await provider.token());
    expect(provider.fetches).toBe(2);
  });

  test('of a withdrawn key is refused after the next refresh', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const token = await provider.token({ exp: seconds(86_400) });
    await verify(token);
    await provider.rotate();

    vi.setSystemTime(Date.now() + 601_000);
    await verify(token);
    // The refresh runs after the request, and an accepted token is cached for a minute.
    await vi.waitFor(async () => {
      vi.setSystemTime(Date.now() + 61_000);
      await expect(verify(token)).rejects.toEqual(refused('USER_AUTH_TOKEN_NOT_FOUND'));
    });
  });

  test('cannot be verified while the provider is down and no keys are cached, and can be once it is back', async () => {
    const token = await provider.token();
    provider.setAway(true);
    await expect(verify(token)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      status: 503,
      retryAfter: expect.any(Number),
    });

    provider.setAway(false);
    expect(await verify(token)).toMatchObject({ subject: 'ada' });
  });

  test('is verified with cached keys while the provider is down', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    await verify(await provider.token());
    provider.setAway(true);

    vi.setSystemTime(Date.now() + 3_600_000);
    expect(await verify(await provider.token({ sub: 'ben' }))).toMatchObject({ subject: 'ben' });
    expect(await verify(await provider.token({ sub: 'cleo' }))).toMatchObject({ subject: 'cleo' });
  });

  test('is not verified with the keys of another issuer', async () => {
    provider.setDiscovery({ issuer: 'https://evil.example.com', jwks_uri: `${provider.issuer}/keys` });

    await expect(verify(await provider.token())).rejects.toEqual(refused('UNAVAILABLE'));
    expect(await verifier({ jwksURL: `${provider.issuer}/keys` })(await provider.token())).toMatchObject({
      subject: 'ada',
    });
  });
});
