import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { eventually } from '#test/support/settle.ts';
import type { Client } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, anApiKey, anOperator, aTenant, aUser, type TestOperator } from '../../../support/factories.ts';

let cluster: Cluster;
let operator: TestOperator;
let api: Client;
beforeAll(async () => {
  cluster = await startCluster({ workers: false, apis: 2 });
  operator = await anOperator(cluster);
  api = cluster.asOperator(operator);
});
afterAll(() => cluster[Symbol.asyncDispose]());

test('users are found by part of their address or name, page by page', async () => {
  const mark = newID();
  const people = [];
  for (const n of [1, 2, 3]) people.push(await aUser(cluster, { email: `${mark}-${n}@example.test` }));

  const first = await api.get(`/api/v1/operator/users?search=${mark.toUpperCase()}&page=1&pageSize=2`);
  const second = await api.get(`/api/v1/operator/users?search=${mark}&page=2&pageSize=2`);

  expect(first.body).toMatchObject({ totalCount: 3, totalPages: 2, page: 1 });
  const ids = [...first.body.users, ...second.body.users].map(({ userID }) => userID);
  expect(ids).toEqual(people.map(({ id }) => id).reverse());
  expect((await api.get(`/api/v1/operator/users?search=${newID()}`)).body.users).toEqual([]);
});

test('rejects the token, sockets and API keys of a blocked user at once in every process, until the user is unblocked', async () => {
  const tenant = await aTenant(cluster);
  const member = await aMember(cluster, { tenant, can: ['workflow.list'] });
  const key = await anApiKey(cluster, { tenant, creator: member, can: ['workflow.list'] });
  const sockets = await Promise.all(cluster.apis.map((at) => cluster.socket(member, { baseURL: at.baseURL })));
  await using witness = await cluster.socket(tenant.creator);

  const { status, body } = await api.patch(`/api/v1/operator/users/${member.id}`, { isDisabled: true });

  expect({ status, body }).toMatchObject({ status: 200, body: { user: { userID: member.id, isDisabled: true } } });
  for (const { baseURL } of cluster.apis) {
    expect((await cluster.as(member, { baseURL }).in(tenant).get('T/workflows')).status).toBe(401);
    expect(await cluster.withKey(key, { baseURL }).in(tenant).get('T/workflows')).toMatchObject({
      status: 401,
      body: { error: { code: 'INVALID_API_KEY', message: expect.stringContaining('blocked') } },
    });
  }
  await eventually(() => expect(sockets.map(({ raw }) => raw.connected)).toEqual([false, false]));
  expect(witness.raw.connected).toBe(true);

  await api.patch(`/api/v1/operator/users/${member.id}`, { isDisabled: false });
  expect((await cluster.as(member).in(tenant).get('T/workflows')).status).toBe(200);
  expect((await cluster.withKey(key).in(tenant).get('T/workflows')).status).toBe(200);
});

test('the audit log tells which operator blocked which user', async () => {
  const user = await aUser(cluster);
  await api.patch(`/api/v1/operator/users/${user.id}`, { isDisabled: true });
  await api.patch(`/api/v1/operator/users/${user.id}`, { isDisabled: false });

  const { rows } = await cluster.pool.query(
    'select operator_id, action, path from operator_audit where path like $1 order by id',
    [`%${user.id}`],
  );
  const path = `/api/v1/operator/users/${user.id}`;
  expect(rows).toEqual([
    { operator_id: operator.id, action: 'USER_BLOCKED', path },
    { operator_id: operator.id, action: 'USER_UNBLOCKED', path },
  ]);
});

test.each([{}, { isDisabled: 'yes' }, { isDisabled: null }])('%j is refused, and the field is named', async (body) => {
  const user = await aUser(cluster);
  const answer = await api.patch(`/api/v1/operator/users/${user.id}`, body);
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
  expect(answer.body.error.message).toContain('isDisabled');
  expect((await api.patch(`/api/v1/operator/users/${newID()}`, { isDisabled: true })).status).toBe(404);
});
