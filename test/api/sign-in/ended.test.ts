import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endSession } from '#api/sign-in/sessions.ts';
import { inTransaction } from '#shared/db/pool.ts';
import type { Cluster } from '#test/support/cluster.ts';
import { anAccount, issuer, openSignIn, password, signIn, startSignInCluster, visit } from '#test/support/sign-in.ts';
import type { Visitor } from '#test/support/visitor.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startSignInCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const isSignedIn = async (visitor: Visitor) =>
  (await visitor.open(`${issuer}/account`)).text.includes('Signed in as');

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

/** What a request waits for once it has read its session: the row of the account. */
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
