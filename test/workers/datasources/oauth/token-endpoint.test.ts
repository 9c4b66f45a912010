import { SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import type { OAuthProvider } from '#shared/process/oauth-providers.ts';
import { openOutbound } from '#test/support/connector.ts';
import { type HTTPServer, json, startHTTP } from '#test/support/http-server.ts';
import { createTokenEndpoint, type TokenEndpoint } from '#workers/datasources/oauth/token-endpoint.ts';
import { createOutboundFetch } from '#workers/outbound/fetch.ts';
import { createOutbound } from '#workers/outbound/gate.ts';

/** Answers of non-conforming providers. A conforming one is tested with a real provider. */
const brought = {
  code: 'the-code',
  redirectURI: 'https://here.test/callback',
  codeVerifier: 'v'.repeat(43),
  nonce: 'n',
};

interface Opened extends AsyncDisposable {
  server: HTTPServer;
  endpoint: TokenEndpoint;
}

async function open(
  answer: Parameters<typeof startHTTP>[0],
  more: Partial<OAuthProvider> = {},
  outbound = openOutbound,
  { revocationPath }: { revocationPath?: string } = {},
): Promise<Opened> {
  const server = await startHTTP(answer);
  const fetch = createOutboundFetch(outbound);
  const provider: OAuthProvider = {
    name: 'acme',
    authorizationURL: `${server.origin}/auth`,
    tokenURL: `${server.origin}/token`,
    ...(revocationPath && { revocationURL: server.origin + revocationPath }),
    clientID: 'c',
    clientSecret: 'the-secret',
    clientSecretIn: 'body',
    scopes: [],
    authorizationParams: {},
    ...more,
  };
  return {
    server,
    endpoint: createTokenEndpoint(provider, fetch),
    async [Symbol.asyncDispose]() {
      await fetch[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const tokens = { access_token: 'a-token', token_type: 'Bearer', expires_in: 60 };

describe('a token request', () => {
  test.each<[OAuthProvider['clientSecretIn'], object, string | undefined]>([
    ['body', { client_id: 'c', client_secret: 'the-secret' }, undefined],
    ['header', {}, `Basic ${Buffer.from('c:the%2Dsecret').toString('base64')}`],
  ])('has the client credentials in the %s', async (clientSecretIn, inBody, authorization) => {
    await using acme = await open((_request, response) => json(response, tokens), { clientSecretIn });

    expect(await acme.endpoint.exchange({ ...brought, issuer: 'https://whoever.test' })).toEqual({
      accessToken: 'a-token',
      refreshToken: null,
      lifeMs: 60_000,
      scopes: null,
      account: null,
    });
    await acme.endpoint.refresh('r');

    const [exchange, refresh] = acme.server.seen;
    expect(exchange?.headers.authorization).toBe(authorization);
    expect(Object.fromEntries(new URLSearchParams(exchange?.body))).toEqual({
      grant_type: 'authorization_code',
      code: 'the-code',
      redirect_uri: brought.redirectURI,
      code_verifier: brought.codeVerifier,
      ...inBody,
    });
    expect(Object.fromEntries(new URLSearchParams(refresh?.body))).toEqual({
      grant_type: 'refresh_token',
      refresh_token: 'r',
      ...inBody,
    });
  });
});

test.each([
  [3_600, 3_600_000],
  ['3600', 3_600_000],
  [0, 0],
  [1e13, null],
  [1.7e308, null],
])('a token that lives for %s seconds has a life of %s ms', async (expires_in, lifeMs) => {
  await using acme = await open((_request, response) => json(response, { ...tokens, expires_in }));

  expect(await acme.endpoint.exchange(brought)).toMatchObject({ lifeMs });
  expect(await acme.endpoint.refresh('r')).toMatchObject({ lifeMs });
});

describe('an answer', () => {
  test.each<[string, Parameters<typeof startHTTP>[0], object]>([
    ['a no', (_, r) => json(r, { error: 'invalid_grant' }, 400), { details: { reason: 'invalid_grant' } }],
    ['a no of GitHub', (_, r) => json(r, { error: 'bad_refresh_token' }), { details: { reason: 'invalid_grant' } }],
    ['another no', (_, r) => json(r, { error: 'invalid_scope' }, 400), { details: { reason: 'refused' } }],
    ['a long no', (_, r) => json(r, { error: '<b>'.repeat(99) }, 400), { message: /an error without a name$/ }],
    [
      'a no to the client',
      (_, r) => json(r, { error: 'invalid_client' }, 401, { 'www-authenticate': 'Basic realm="x"' }),
      { message: /does not accept the client/, details: { reason: 'authentication' } },
    ],
    ['trouble', (_, r) => json(r, tokens, 503), { message: /answered 503$/, retry: true }],
    ['too many', (_, r) => json(r, {}, 429), { message: /answered 429$/, retry: true }],
    ['a page', (_, r) => void r.writeHead(200, { 'content-type': 'text/html' }).end('<p>'), { retry: false }],
    ['nothing', (_, r) => void r.writeHead(204).end(), { retry: false }],
    ['no token', (_, r) => json(r, { token_type: 'bearer' }), { retry: false }],
    ['a token for its owner only', (_, r) => json(r, { ...tokens, token_type: 'DPoP' }), { retry: false }],
    ['another address', (_, r) => void r.writeHead(307, { location: '/there' }).end(), { retry: false }],
    ['no end', (_, r) => void r.socket?.destroy(), { retry: true }],
  ])('that is %s is reported without secrets', async (_what, answer, expected) => {
    await using acme = await open(answer);

    for (const ask of [() => acme.endpoint.exchange(brought), () => acme.endpoint.refresh('the-refresh')]) {
      const error: unknown = await ask().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'UPSTREAM_FAILED', ...expected });
      const whole =
        error instanceof Error ? `${error.message} ${JSON.stringify([error, error.cause])} ${error.cause}` : '';
      expect(whole).not.toMatch(/the-secret|the-code|the-refresh|a-token/);
    }
    expect(acme.server.seen).toHaveLength(2);
  });

  test('is not requested from an address that workers may not reach', async () => {
    await using acme = await open((_request, response) => json(response, tokens), {}, createOutbound({ allow: [] }));
    await expect(acme.endpoint.exchange(brought)).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
    expect(acme.server.seen).toEqual([]);
  });
});

describe('a revocation', () => {
  const openWith = (
    answer: Parameters<typeof startHTTP>[0],
    clientSecretIn: OAuthProvider['clientSecretIn'] = 'body',
  ) => open(answer, { clientSecretIn }, openOutbound, { revocationPath: '/revoke' });
  const signal = new AbortController().signal;

  test.each<OAuthProvider['clientSecretIn']>(['body', 'header'])(
    'names the token, its kind and the client, whose secret is in the %s',
    async (clientSecretIn) => {
      await using acme = await openWith((_request, response) => void response.end(), clientSecretIn);

      await acme.endpoint.revoke?.('the-token', 'refresh_token', signal);

      const [request] = acme.server.seen;
      expect(request).toMatchObject({ method: 'POST', url: '/revoke' });
      expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual({
        token: 'the-token',
        token_type_hint: 'refresh_token',
        ...(clientSecretIn === 'body' && { client_id: 'c', client_secret: 'the-secret' }),
      });
      expect(request?.headers.authorization?.split(' ')[0]).toBe(clientSecretIn === 'header' ? 'Basic' : undefined);
    },
  );

  test.each<[string, Parameters<typeof startHTTP>[0]]>([
    ['204', (_, r) => void r.writeHead(204).end()],
    ['that the token is not valid any more', (_, r) => json(r, { error: 'invalid_token' }, 400)],
  ])('that is answered by %s is done', async (_what, answer) => {
    await using acme = await openWith(answer);
    await expect(acme.endpoint.revoke?.('the-token', 'access_token', signal)).resolves.toBeUndefined();
  });

  test.each<[string, Parameters<typeof startHTTP>[0], object]>([
    ['an error', (_, r) => json(r, { error: 'unsupported_token_type' }, 400), { message: /unsupported_token_type$/ }],
    ['an error of the client', (_, r) => json(r, { error: 'invalid_client' }, 401), { message: /client ID or secret/ }],
    ['an error with the status 200', (_, r) => json(r, { error: 'nope' }), { message: /refused the request: nope$/ }],
    ['503', (_, r) => json(r, {}, 503), { message: /answered 503$/ }],
    ['a page', (_, r) => void r.writeHead(404, { 'content-type': 'text/html' }).end('<p>'), {}],
    ['nothing', (_, r) => void r.socket?.destroy(), {}],
  ])('that is answered by %s is not done', async (_what, answer, expected) => {
    await using acme = await openWith(answer);
    const error: unknown = await acme.endpoint
      .revoke?.('the-token', 'access_token', signal)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'UPSTREAM_FAILED', ...expected });
    expect(JSON.stringify([error, String(error)])).not.toMatch(/the-token|the-secret/);
  });

  test('is not offered without an address', async () => {
    await using acme = await open((_request, response) => void response.end());
    expect(acme.endpoint.revoke).toBeUndefined();
  });
});

describe('an ID token', () => {
  const issuer = 'https://id.acme.test';
  const exchangeWith = async (claims: Record<string, unknown>, iss?: string) => {
    const key = new TextEncoder().encode('x'.repeat(32));
    const good = { iss: issuer, aud: 'c', sub: 's', email: 'a@b.test', nonce: 'n' };
    const now = Math.floor(Date.now() / 1000);
    const token = await new SignJWT({ iat: now, exp: now + 60, ...good, ...claims })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(key);
    // The signature is not verified, but its algorithm is.
    const [, body, signature] = token.split('.');
    const header = Buffer.from(JSON.stringify({ alg: 'ES256' })).toString('base64url');
    const answer = { ...tokens, id_token: claims.alg ? token : [header, body, signature].join('.') };
    await using acme = await open((_request, response) => json(response, answer), { issuer, scopes: ['openid'] });
    return await acme.endpoint.exchange({ ...brought, issuer: iss });
  };

  test('names the account', async () => {
    expect(await exchangeWith({}, issuer)).toMatchObject({ account: { subject: 's', email: 'a@b.test' } });
    expect(await exchangeWith({ email: 7 })).toMatchObject({ account: { subject: 's', email: null } });
  });

  test.each<[string, Record<string, unknown>, string | undefined]>([
    ['of another way here', { nonce: 'm' }, undefined],
    ['without a nonce', { nonce: undefined }, undefined],
    ['for another client', { aud: 'd' }, undefined],
    ['of another provider', { iss: 'https://evil.test' }, undefined],
    ['that has expired', { exp: 1 }, undefined],
    ['signed with a secret', { alg: 'HS256' }, undefined],
    ['that another provider has sent here', {}, 'https://evil.test'],
  ])('%s is rejected', async (_what, claims, iss) => {
    await expect(exchangeWith(claims, iss)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', retry: false });
  });
});
