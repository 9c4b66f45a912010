import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Authenticator, createAuthenticator } from '#api/auth/identify.ts';
import { newID } from '#shared/core/ids.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { type FreshDatabase, freshDatabase } from '#test/support/database.ts';
import { testLogger } from '#test/support/environment.ts';
import { type IdentityProvider, startIdentityProvider } from '#test/support/identity-provider.ts';

const audience = 'gantry';

describe('the authenticator', () => {
  let database: FreshDatabase;
  let pool: Pool;
  let provider: IdentityProvider;
  let authenticator: Authenticator & AsyncDisposable;
  let sub: string;
  beforeAll(async () => {
    database = await freshDatabase();
    pool = createPool({ url: database.url, poolSize: 5 }, testLogger);
    provider = await startIdentityProvider({ audience });
    authenticator = createAuthenticator(
      { issuer: provider.issuer, audience, jwksURL: undefined },
      { pool, logger: testLogger },
    );
  });
  afterAll(async () => {
    await authenticator[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
    await pool.end();
    await database[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    sub = newID();
  });

  async function users(): Promise<{ id: string; email: string | null; first_name: string | null }[]> {
    const { rows } = await pool.query('select id, email, first_name from app_user where subject = $1', [sub]);
    return rows;
  }

  const bearer = async (claims = {}) => `Bearer ${await provider.token({ sub, ...claims })}`;

  test('stores a new user once when many requests arrive at the same time', async () => {
    const header = await bearer({ given_name: 'Ada' });

    const identities = await Promise.all(Array.from({ length: 20 }, () => authenticator.identify(header)));

    const stored = await users();
    expect(stored).toEqual([{ id: identities[0]?.userID, email: 'ada@example.com', first_name: 'Ada' }]);
    expect(new Set(identities.map(({ userID }) => userID)).size).toBe(1);
  });

  test('keeps the address of the last token that has one', async () => {
    const { userID } = await authenticator.identify(await bearer());

    expect(await authenticator.identify(await bearer({ email: 'new@example.com' }))).toMatchObject({
      userID,
      email: 'new@example.com',
    });
    expect(await authenticator.identify(await bearer({ email: undefined }))).toMatchObject({
      userID,
      email: 'new@example.com',
    });
    expect(await users()).toMatchObject([{ email: 'new@example.com' }]);
  });

  test('rejects a blocked user at once, also with a token that was accepted before', async () => {
    const header = await bearer();
    const { userID } = await authenticator.identify(header);
    await pool.query('update app_user set is_disabled = true where id = $1', [userID]);

    await expect(authenticator.identify(header)).rejects.toMatchObject({ status: 401 });
    await expect(authenticator.identifyToken(header.slice('Bearer '.length))).rejects.toMatchObject({ status: 401 });
  });

  test('answers with the membership in the requested tenant', async () => {
    const tenantID = newID();
    const { userID } = await authenticator.identify(await bearer());
    await pool.query('insert into tenant (id, tenant_title, creator_id, policy_version) values ($1, $2, $3, 7)', [
      tenantID,
      'T',
      userID,
    ]);
    expect(await authenticator.identify(await bearer(), { tenantID })).toMatchObject({ membership: null });
    expect(await authenticator.findMembership(userID, tenantID)).toBeNull();

    await pool.query(`insert into membership (tenant_id, user_id, role) values ($1, $2, 'ADMIN')`, [tenantID, userID]);
    const membership = { role: 'ADMIN', policyVersion: 7 };
    expect(await authenticator.identify(await bearer(), { tenantID })).toMatchObject({ userID, membership });
    expect(await authenticator.findMembership(userID, tenantID)).toEqual(membership);

    await pool.query('update app_user set is_disabled = true where id = $1', [userID]);
    expect(await authenticator.findMembership(userID, tenantID)).toBeNull();
  });

  test('reads the workflow of a request with the membership, each of its own tenant', async () => {
    const header = await bearer();
    const { userID } = await authenticator.identify(header);
    const [mine, theirs, workflowID, versionID] = [newID(), newID(), newID(), newID()];
    for (const tenantID of [mine, theirs])
      await pool.query('insert into tenant (id, tenant_title, creator_id) values ($1, $2, $3)', [
        tenantID,
        'T',
        userID,
      ]);
    await pool.query(
      `insert into workflow (id, tenant_id, title, version_id, creator_id, is_disabled) values ($1, $2, 'W', $3, $4, true)`,
      [workflowID, mine, versionID, userID],
    );
    const ask = async (tenantID: string, id?: string) =>
      (await authenticator.identify(header, { tenantID, workflowID: id })).membership;
    expect(await ask(mine, workflowID)).toBeNull();
    await pool.query('insert into membership (tenant_id, user_id) select id, $2 from unnest($1::uuid[]) as id', [
      [mine, theirs],
      userID,
    ]);

    const found = await Promise.all([ask(mine, workflowID), ask(theirs, workflowID), ask(mine, newID()), ask(mine)]);

    expect(found.map((membership) => membership?.workflow)).toEqual([
      { versionID, isDisabled: true },
      undefined,
      undefined,
      undefined,
    ]);
    expect(found).not.toContain(null);
  });

  test('takes the bare token of a socket', async () => {
    const token = await provider.token({ sub });

    expect(await authenticator.identifyToken(token)).toEqual({
      userID: (await users())[0]?.id,
      email: 'ada@example.com',
    });
    for (const nothing of [undefined, null, '', 7, { token }, 'nonsense'])
      await expect(authenticator.identifyToken(nothing)).rejects.toMatchObject({ code: 'USER_AUTH_TOKEN_NOT_FOUND' });
  });

  test('takes a bearer token, an API key, or no header', async () => {
    const token = await provider.token({ sub });
    await expect(authenticator.identify(`bearer  ${token} `)).resolves.toMatchObject({ email: 'ada@example.com' });

    for (const header of [undefined, '', 'Bearer', 'Bearer ', `Basic ${token}`, token, `Bearer ${token} extra`])
      await expect(authenticator.identify(header), header).rejects.toMatchObject({ code: 'USER_AUTH_TOKEN_NOT_FOUND' });
    await expect(authenticator.identify('api_key 0123')).rejects.toMatchObject({
      code: 'INVALID_API_KEY',
      status: 401,
    });
    await expect(authenticator.identify(undefined, { apiKey: '0123' })).rejects.toMatchObject({
      code: 'INVALID_API_KEY',
    });
  });

  test('writes pending times of use when it closes', async () => {
    const config = { issuer: provider.issuer, audience, jwksURL: undefined };
    const closing = createAuthenticator(config, { pool, logger: testLogger });
    const { userID } = await closing.identify(await bearer());
    const lastSeen = async () => (await pool.query('select last_seen from app_user where id = $1', [userID])).rows[0];
    expect(await lastSeen()).toEqual({ last_seen: null });

    await closing[Symbol.asyncDispose]();

    expect(await lastSeen()).toEqual({ last_seen: expect.any(Date) });
  });

  test('without a provider every token is rejected', async () => {
    const closed = createAuthenticator(
      { issuer: undefined, audience: undefined, jwksURL: undefined },
      { pool, logger: testLogger },
    );

    await expect(closed.identify(await bearer())).rejects.toMatchObject({ code: 'USER_AUTH_TOKEN_NOT_FOUND' });
  });
});
