import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endSession } from '#api/sign-in/sessions.ts';
import { inTransaction } from '#shared/db/pool.ts';
import type { Cluster } from '#test/support/cluster.ts';
import {
  anAccount,
  issuer,
  openSignIn,
  password,
  programAt,
  signIn,
  startSignInCluster,
  visit,
} from '#test/support/sign-in.ts';
import type { Visitor } from '#test/support/visitor.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startSignInCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const isSignedIn = async (visitor: Visitor) => (await visitor.open(`${issuer}/account`)).text.includes('Signed in as');

async function aSignedIn(email: string) {
  const { accountID } = await anAccount(cluster, email);
  const visitor = visit(cluster);
  const { page, flow } = await signIn(visitor, { email });
  const { rows } = await cluster.pool.query(
    "select uid from sign_in_record where kind = 'Session' and account_id = $1",
    [accountID],
  );
  return { accountID, email, visitor, flow, address: page.leadsTo as URL, uid: rows[0]?.uid as string };
}

/** The request reads its session, and then waits for the row of the account. */
async function duringRequest(ask: () => Promise<unknown>, act: () => Promise<unknown>): Promise<void> {
  let asked: Promise<unknown> | undefined;
  await inTransaction(cluster.pool, async (client) => {
    await client.query('lock table sign_in_account');
    asked = ask();
    await expect.poll(async () => (await cluster.pool.query(WAITING)).rows.length).toBe(1);
    await act();
  });
  await asked;
}

const WAITING = `
select from pg_stat_activity
where datname = current_database() and wait_event_type = 'Lock' and query like '%sign_in_account%'`;

describe('a session that is ended during a request of its browser stays ended', () => {
  test('where the request reads it only', async () => {
    const { visitor, accountID, uid } = await aSignedIn('during@example.com');

    await duringRequest(
      () => openSignIn(visitor),
      () => endSession(cluster.pool, accountID, uid),
    );

    expect(await isSignedIn(visitor)).toBe(false);
  });

  test('where the request gives it a new id', async () => {
    const { visitor, accountID, uid, email } = await aSignedIn('renamed@example.com');
    const { page } = await openSignIn(visitor, { prompt: 'login' });
    const answer = await visitor.submit(page, { email, password }, { until: `${issuer}/auth/` });

    await duringRequest(
      () => visitor.open(answer.leadsTo?.href ?? ''),
      () => endSession(cluster.pool, accountID, uid),
    );

    expect(await isSignedIn(visitor)).toBe(false);
  });
});

describe('a sign-in that its browser has not followed yet', () => {
  async function underWay(email: string) {
    const owner = await aSignedIn(email);
    const thief = visit(cluster);
    const { page } = await openSignIn(thief);
    const answer = await thief.submit(page, { email, password }, { until: `${issuer}/auth/` });
    return { ...owner, thief, next: answer.leadsTo?.href ?? '' };
  }

  const formOf = (text: string, has: string) =>
    (text.match(/<form[\s\S]*?<\/form>/g) ?? []).findIndex((markup) => markup.includes(has));

  test('ends with a change of the password, which its owner stays signed in after', async () => {
    const { visitor, thief, next, flow, address } = await underWay('changes@example.com');
    const program = programAt(cluster.baseURL);
    const tokens = await program.redeem(flow, address);
    const page = await visitor.open(`${issuer}/account`);
    const fields = { current: password, password: 'quite another set of words' };

    const changed = await visitor.submit(page, fields, { form: formOf(page.text, '/account/password') });

    expect(changed.text).toContain('The password is changed');
    const after = await thief.open(next);
    expect(after.leadsTo?.searchParams.get('code') ?? null).toBeNull();
    expect(await isSignedIn(thief)).toBe(false);
    expect(await isSignedIn(visitor)).toBe(true);
    expect(await program.refresh(tokens.refresh_token ?? '')).toHaveProperty('id_token');
  });

  test('is asked for the password again, if only its time is too old', async () => {
    const { thief, next, accountID } = await underWay('too-old@example.com');
    await cluster.pool.query(
      'update sign_in_account set valid_after = extract(epoch from now())::bigint + 1 where id = $1',
      [accountID],
    );

    const after = await thief.open(next);

    expect(after).toMatchObject({ status: 200, leadsTo: undefined });
    expect(after.text).toContain('name="password"');
  });

  test('ends with all others', async () => {
    const { visitor, thief, next, accountID } = await underWay('others@example.com');
    await signIn(visit(cluster), { email: 'others@example.com' });
    const page = await visitor.open(`${issuer}/account`);

    await visitor.submit(page, {}, { form: formOf(page.text, 'end-others') });

    expect((await thief.open(next)).leadsTo).toBeUndefined();
    const { rows } = await cluster.pool.query(
      "select kind from sign_in_record where account_id = $1 and kind in ('Session', 'Interaction')",
      [accountID],
    );
    expect(rows).toEqual([{ kind: 'Session' }]);
  });
});

test('a token of before the password was changed is worth nothing, also where its session was found again', async () => {
  const { accountID, flow, address } = await aSignedIn('old-token@example.com');
  const program = programAt(cluster.baseURL);
  const tokens = await program.redeem(flow, address);
  await cluster.pool.query(
    'update sign_in_account set valid_after = extract(epoch from now())::bigint + 1 where id = $1',
    [accountID],
  );

  await expect(program.refresh(tokens.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
});
