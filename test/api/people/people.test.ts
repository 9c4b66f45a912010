import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Authenticator, createAuthenticator } from '#api/auth/identify.ts';
import { normalAddress } from '#api/people/people.ts';
import { newID } from '#shared/core/ids.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { type FreshDatabase, freshDatabase } from '../../support/database.ts';
import { testLogger } from '../../support/environment.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider.ts';

const audience = 'gantry';

describe('an invitation', () => {
  let database: FreshDatabase;
  let pool: Pool;
  let provider: IdentityProvider;
  let authenticator: Authenticator & AsyncDisposable;
  let sub: string;
  let email: string;
  let tenantID: string;
  beforeAll(async () => {
    database = await freshDatabase();
    pool = createPool({ url: database.url, poolSize: 5 }, testLogger);
    provider = await startIdentityProvider({ audience });
    const config = { issuer: provider.issuer, audience, jwksURL: undefined };
    authenticator = createAuthenticator(config, { pool, logger: testLogger });
  });
  afterAll(async () => {
    await authenticator[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
    await pool.end();
    await database[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    sub = newID();
    email = `${newID()}@example.test`;
    tenantID = await invite();
  });

  async function invite({ deletingAt = null }: { deletingAt?: Date | null } = {}): Promise<string> {
    const id = newID();
    const insert = `insert into tenant (id, tenant_title, creator_id, deleting_at) values ($1::uuid, 'A tenant', $1, $2)`;
    await pool.query(insert, [id, deletingAt]);
    await pool.query('insert into invitation (id, tenant_id, email, creator_id) values ($1, $2, $3, $1)', [
      newID(),
      id,
      email,
    ]);
    return id;
  }

  async function signIn(claims: Record<string, unknown>) {
    const header = `Bearer ${await provider.token({ sub, email, ...claims })}`;
    return authenticator.identify(header, { tenantID });
  }

  async function memberships(): Promise<number> {
    const sql = `select from membership m join app_user u on u.id = m.user_id where u.subject = $1`;
    return (await pool.query(sql, [sub])).rowCount ?? 0;
  }

  test('makes its user a member in the first request with its address, once for many requests', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => signIn({ email_verified: true })));

    expect(all.filter(({ membership }) => membership !== null)).toHaveLength(10);
    expect(await memberships()).toBe(1);
  });

  test('is not accepted before the address is verified', async () => {
    for (const claims of [{}, { email_verified: false }, { email_verified: 'no' }])
      expect(await signIn(claims)).toMatchObject({ membership: null });

    expect(await signIn({ email_verified: true })).toMatchObject({ membership: { role: 'MEMBER' } });
  });

  test('is accepted by an account whose address changes to the invited one', async () => {
    await signIn({ email: 'other@example.test', email_verified: true });
    expect(await memberships()).toBe(0);

    expect(await signIn({ email: email.toUpperCase(), email_verified: true })).toMatchObject({
      membership: { role: 'MEMBER' },
    });
  });

  test('is not accepted when its account changes to the invited address without verification', async () => {
    await signIn({ email: 'before@example.test', email_verified: true });

    expect(await signIn({})).toMatchObject({ membership: null });
    const sql = 'select email, email_verified_at from app_user where subject = $1';
    expect((await pool.query(sql, [sub])).rows).toEqual([{ email, email_verified_at: null }]);
  });

  test('is not accepted while the user is blocked', async () => {
    await signIn({});
    await pool.query('update app_user set is_disabled = true where subject = $1', [sub]);
    await expect(signIn({ email_verified: true })).rejects.toMatchObject({ status: 401 });
    expect(await memberships()).toBe(0);

    await pool.query('update app_user set is_disabled = false where subject = $1', [sub]);
    expect(await signIn({ email_verified: true })).toMatchObject({ membership: { role: 'MEMBER' } });
  });

  test('of a tenant that is being deleted is skipped', async () => {
    await invite({ deletingAt: new Date() });

    await signIn({ email_verified: true });

    expect(await memberships()).toBe(1);
  });

  test('is accepted together with any number of others, a batch in each request', async () => {
    for (let n = 0; n < 109; n += 1) await invite();

    const after = [];
    for (let n = 0; n < 3; n += 1) {
      await signIn({ email_verified: true });
      after.push(await memberships());
    }

    expect(after).toEqual([50, 100, 110]);
  });

  test('ignores the case of ASCII letters only', () => {
    expect(normalAddress('Ada.LOVELACE@Example.TEST')).toBe('ada.lovelace@example.test');
    expect(normalAddress('\u212aate@x.test')).toBe('\u212aate@x.test');
    expect(normalAddress('\u0130@x.test')).toBe('\u0130@x.test');
  });
});
