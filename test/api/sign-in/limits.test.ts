import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Cluster } from '#test/support/cluster.ts';
import { issuer, openSignIn, startFlow, startSignInCluster, visit } from '#test/support/sign-in.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startSignInCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const countRecords = async () =>
  (await cluster.pool.query('select count(*)::int as count from sign_in_record')).rows[0]?.count as number;

test('a network that is not signed in gets rows up to a number, by each of its requests', async () => {
  const visitor = () => visit(cluster, '192.0.2.10');
  const { url } = await startFlow();
  const pushed = await visitor().open(`${issuer}/request`, { form: Object.fromEntries(url.searchParams) });
  expect(pushed.status).toBe(404);
  const before = await countRecords();
  const statuses = new Set<number>();
  for (let n = 0; n < 10; n += 1) {
    const asked = Array.from({ length: 31 }, () => visitor().open(`${issuer}/session/end`));
    for (const { status } of await Promise.all(asked)) statuses.add(status);
  }

  expect([...statuses].sort()).toEqual([200, 429]);
  expect((await countRecords()) - before).toBe(300);
  expect((await openSignIn(visitor())).page, 'one count for all').toMatchObject({ status: 429 });
});

test('passkeys of an office are not counted as links, and the page says when to try again', async () => {
  const ip = '192.0.2.20';
  const visitor = visit(cluster, ip);
  const { page } = await openSignIn(visitor);
  const form = page.text.match(/<form[\s\S]*?<\/form>/g)?.findIndex((markup) => markup.includes('/passkey"')) ?? 0;
  const ask = () => visitor.submit(page, { response: '{}' }, { form });
  const statuses = [];
  for (let n = 0; n < 300; n += 1) statuses.push((await ask()).status);
  expect(new Set(statuses)).toEqual(new Set([401]));

  expect(await ask()).toMatchObject({ status: 429, problem: expect.stringMatching(/Try again in \d+ minutes/) });
  expect((await visit(cluster, ip).open(`${issuer}/link/unknown`)).status, 'links').toBe(410);
});

test('links of a network that has opened too many say when to try again', async () => {
  const ip = '192.0.2.30';
  const pages = [];
  for (let n = 0; n < 61; n += 1) pages.push(await visit(cluster, ip).open(`${issuer}/link/unknown`));

  expect(pages.at(-2)).toMatchObject({ status: 410 });
  expect(pages.at(-1)).toMatchObject({ status: 429, problem: expect.stringMatching(/Try again in \d+ minutes/) });
});
