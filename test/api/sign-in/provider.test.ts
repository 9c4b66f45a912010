import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '#test/support/client.ts';
import type { Cluster } from '#test/support/cluster.ts';
import {
  anAccount,
  issuer,
  openSignIn,
  programAt,
  signIn,
  site,
  startFlow,
  startSignInCluster,
  visit,
} from '#test/support/sign-in.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startSignInCluster({ apis: 2 });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const ask = (token: string, at = cluster.baseURL) =>
  createClient(at, async () => ({ authorization: `Bearer ${token}` })).get('/api/v1/auth');

async function signedIn(email: string) {
  await anAccount(cluster, email);
  const visitor = visit(cluster);
  const { page, flow } = await signIn(visitor, { email });
  const address = page.leadsTo;
  if (!address) throw new Error(`Not signed in: ${page.status} ${page.problem}`);
  return { visitor, flow, address, tokens: await programAt(cluster.baseURL).redeem(flow, address) };
}

describe('the built-in provider', () => {
  test('signs a user in with code and PKCE, and each API process accepts the ID token', async () => {
    const { tokens } = await signedIn('ada@example.com');

    expect(decodeJwt(tokens.id_token ?? '')).toMatchObject({
      iss: issuer,
      aud: 'gantry',
      email: 'ada@example.com',
      email_verified: true,
    });
    for (const { baseURL } of cluster.apis) {
      const answer = await ask(tokens.id_token ?? '', baseURL);
      expect(answer).toMatchObject({ status: 200, body: { user: { email: 'ada@example.com' } } });
    }
    const { rows } = await cluster.pool.query('select issuer from app_user');
    expect(rows).toEqual([{ issuer: 'gantry:accounts' }]);
  });

  test('names its pages by the public address, also to a client that sends another host', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' };
    const response = await fetch(`${cluster.baseURL}/sign-in/.well-known/openid-configuration`, { headers });
    const document = await response.json();

    expect(document).toMatchObject({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
    });
    expect(JSON.stringify(document)).not.toContain('evil');
    expect(document).toMatchObject({ code_challenge_methods_supported: ['S256'], response_types_supported: ['code'] });
  });

  test('gives a new refresh token with each use; a second use ends the sign-in', async () => {
    const { tokens } = await signedIn('ben@example.com');
    const program = programAt(cluster.baseURL);
    const next = await program.refresh(tokens.refresh_token ?? '');
    expect(next.refresh_token).not.toBe(tokens.refresh_token);
    // At once it may be the same client, which has lost the answer.
    await program.refresh(tokens.refresh_token ?? '');

    await cluster.pool.query(
      "update sign_in_record set consumed_at = consumed_at - interval '11 s' where consumed_at is not null",
    );
    await expect(program.refresh(tokens.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });

    await expect(program.refresh(next.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  test('accepts a code once, and revokes what it was exchanged for', async () => {
    const { flow, address, tokens } = await signedIn('cleo@example.com');
    const program = programAt(cluster.baseURL);

    await expect(program.redeem(flow, address)).rejects.toMatchObject({ error: 'invalid_grant' });

    await expect(program.refresh(tokens.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  test('refuses a code with the verifier of another client', async () => {
    await anAccount(cluster, 'dan@example.com');
    const { page, flow } = await signIn(visit(cluster), { email: 'dan@example.com' });
    const other = await startFlow();

    const redeemed = programAt(cluster.baseURL).redeem({ ...flow, verifier: other.verifier }, page.leadsTo as URL);

    await expect(redeemed).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  test.each([
    ['another address to come back to', { redirect_uri: 'https://evil.example/' }],
    ['an address below the right one', { redirect_uri: `${site}/console/signed-in/x` }],
    ['an unknown client', { client_id: 'other' }],
  ])('stays on its own page for %s', async (_what, more) => {
    const { page } = await openSignIn(visit(cluster), more);

    expect(page).toMatchObject({ status: 400, leadsTo: undefined });
    expect(page.text).toContain('This sign-in cannot go on');
    expect(page.text).not.toContain('href="https://evil');
  });

  test.each([
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['PKCE in clear', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['an implicit flow', { response_type: 'id_token' }, 'unsupported_response_type'],
    ['no page, without a session', { prompt: 'none' }, 'login_required'],
  ])('tells the client that it refuses %s', async (_what, more, error) => {
    const { page } = await openSignIn(visit(cluster), more);

    expect(page.leadsTo?.href).toContain(site);
    expect(new URLSearchParams(page.leadsTo?.search || page.leadsTo?.hash.slice(1)).get('error')).toBe(error);
  });

  test('tokens that are not signed, signed with a public key, or of another realm are refused', async () => {
    const { tokens } = await signedIn('eve@example.com');
    const token = tokens.id_token ?? '';
    const [, body = ''] = token.split('.');
    const { kid = '' } = decodeProtectedHeader(token);
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const jwks = await (await fetch(`${cluster.baseURL}/sign-in/jwks`)).text();
    const forged = await new SignJWT(decodeJwt(token))
      .setProtectedHeader({ alg: 'HS256', kid })
      .sign(new TextEncoder().encode(jwks));

    const refused = [`${encode({ alg: 'none', kid })}.${body}.`, forged, tokens.access_token];
    for (const one of refused)
      expect(await ask(one)).toMatchObject({ status: 401, body: { error: { code: 'USER_AUTH_TOKEN_NOT_FOUND' } } });

    expect(jwks).not.toContain('"d"');
    const asOperator = createClient(cluster.baseURL, async () => ({ authorization: `Bearer ${token}` }));
    expect(await asOperator.get('/api/v1/operator/auth/me')).toMatchObject({ status: 401 });
  });
});
