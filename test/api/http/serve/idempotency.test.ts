import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAsset } from '#api/assets/assets.ts';
import { tenantRoute, userRoute } from '#api/context/routes.ts';
import { createKeyWaits } from '#api/http/serve/idempotency.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { Tenant } from '#shared/entities/tables/tenant.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { type Client, type SmallApi, startSmallApi } from '#test/support/small-api.ts';

let calls = 0;
let beforeAnswer = async () => {};

const routes = [
  tenantRoute({
    name: 'createWorkflow',
    method: 'post',
    path: '/workflows',
    summary: 'Create',
    description: 'Create.',
    status: 201,
    permission: 'workflow.create',
    body: z.object({ title: z.string() }),
    response: z.object({ workflow: z.object({ id: z.uuid(), title: z.string() }) }),
    idempotent: 'transaction',
    async handle({ body, em, caller }) {
      calls += 1;
      const data = { title: body.title, workflowOptions: {}, versionID: newID() };
      const { id, title } = await createAsset(em, caller, 'workflow', Workflow, data);
      await beforeAnswer();
      return { workflow: { id, title } };
    },
  }),
  tenantRoute({
    name: 'touchWorkflow',
    method: 'post',
    path: '/workflows/:workflowID/touch',
    summary: 'Has ids in its path and no body',
    description: 'Has ids in its path and no body.',
    permission: 'workflow.create',
    onWholeType: true,
    params: z.object({ workflowID: z.uuid() }),
    response: z.object({ touched: z.uuid() }),
    idempotent: 'transaction',
    handle: async ({ params }) => ({ touched: params.workflowID }),
  }),
  tenantRoute({
    name: 'startRun',
    method: 'post',
    path: '/runs',
    summary: 'Opens its own transaction',
    description: 'Opens its own transaction.',
    permission: 'workflow.create',
    body: z.object({ n: z.number(), failing: z.boolean().optional() }),
    response: z.object({ instanceID: z.uuid() }),
    idempotent: 'handler',
    async handle({ tenantID, caller, body, idempotency }, { runs }) {
      const run = { tenantID, workflowID: null, versionID: newID(), caller, input: {}, timeoutMs: 60_000 };
      const accepted = await runs.accept(run, idempotency);
      if (body.failing) throw new AppError('UPSTREAM_FAILED', 'Not today');
      return accepted;
    },
  }),
  tenantRoute({
    name: 'reachOutside',
    method: 'post',
    path: '/outside',
    summary: 'Does something elsewhere',
    description: 'Does something elsewhere.',
    permission: 'workflow.create',
    body: z.object({ size: z.number() }),
    response: z.object({ text: z.string() }),
    idempotent: 'outside',
    async handle({ body }) {
      calls += 1;
      await beforeAnswer();
      return { text: 'x'.repeat(body.size) };
    },
  }),
  userRoute({
    name: 'createTenant',
    method: 'post',
    path: '/api/v1/tenants',
    summary: 'Create outside every tenant',
    description: 'Create outside every tenant.',
    status: 201,
    body: z.object({ tenantTitle: z.string() }),
    response: z.object({ id: z.uuid() }),
    idempotent: 'transaction',
    async handle({ body, em, identity }) {
      const tenant = em.create(Tenant, { tenantTitle: body.tenantTitle, creatorID: identity.userID });
      await em.flush();
      return { id: tenant.id };
    },
  }),
];

describe('an Idempotency-Key', () => {
  let api: SmallApi;
  let ada: Client;
  let tenantID: string;
  let path: string;
  beforeAll(async () => {
    api = await startSmallApi(routes);
    ada = await api.as('ada@example.com');
  });
  afterAll(() => api[Symbol.asyncDispose]());
  beforeEach(async () => {
    calls = 0;
    beforeAnswer = async () => {};
    ({ tenantID, path } = await api.tenant(ada));
    await api.grant(tenantID, { subject: ada.userID, object: '*', action: '*' });
  });

  function create(title: string, key: string, client = ada) {
    return client.send('POST', `${path}/workflows`, { title }, { 'idempotency-key': key });
  }

  async function joinTenant({ userID }: Client): Promise<void> {
    await api.context.pool.query('insert into membership (tenant_id, user_id) values ($1, $2)', [tenantID, userID]);
    await api.grant(tenantID, { subject: userID, object: '*', action: '*' });
  }

  async function count(table = 'workflow'): Promise<number> {
    const { rows } = await api.context.pool.query(`select count(*) as n from ${table} where tenant_id = $1`, [
      tenantID,
    ]);
    return rows[0].n;
  }

  test('when absent, each request has its own effect', async () => {
    await ada.send('POST', `${path}/workflows`, { title: 'One' });
    await ada.send('POST', `${path}/workflows`, { title: 'One' });

    expect(await count()).toBe(2);
  });

  test('gives the same request one effect and the same answer', async () => {
    const first = await create('One', 'k1');
    const again = await create('One', 'k1');

    expect(first.status).toBe(201);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect([calls, await count()]).toEqual([1, 1]);
  });

  test('used for another request is a conflict', async () => {
    await create('One', 'k1');

    expect(await create('Two', 'k1')).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
    expect(await count()).toBe(1);
  });

  test('waits without a connection, so that other requests are served', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    beforeAnswer = () => promise;
    const requests = Array.from({ length: 15 }, () => create('One', 'k1'));
    await expect.poll(() => calls).toBe(1);
    // The first request holds the lock on the rules of its tenant; these need none.
    const others = Array.from({ length: 15 }, (_, n) =>
      ada.send('POST', `${path}/workflows/${newID()}/touch`, undefined, { 'idempotency-key': `other-${n}` }),
    );

    expect((await Promise.all(others)).map(({ status }) => status)).toEqual(others.map(() => 200));
    resolve();
    expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(requests.map(() => 201));
    expect(calls).toBe(1);
  });

  test('does not count `wait` of the query to the request', async () => {
    const send = (query: string) => ada.send('POST', `${path}/runs${query}`, { n: 1 }, { 'idempotency-key': 'k1' });
    const first = await send('?wait=5');

    for (const query of ['', '?wait=10', '?wait'])
      expect(await send(query)).toMatchObject({ status: 200, body: { instanceID: first.body.instanceID } });
    expect((await send('?wait=5&fresh=true')).status).toBe(409);
  });

  test('marks no error of a request itself as a replay', async () => {
    const send = () => ada.send('POST', `${path}/runs`, { n: 1, failing: true }, { 'idempotency-key': 'k1' });
    for (const answer of [await send(), await send()]) {
      expect(answer.status).toBe(502);
      expect(answer.headers.get('idempotency-replayed')).toBeNull();
    }
    expect(await count('workflow_instance')).toBe(1);
  });

  test('makes a second request wait for the answer of the first', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    beforeAnswer = () => promise;
    const requests = Array.from({ length: 4 }, () => create('One', 'k1'));
    setTimeout(resolve, 150);

    const answers = await Promise.all(requests);

    expect(new Set(answers.map(({ body }) => body.workflow.id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).toHaveLength(3);
    expect([calls, await count()]).toEqual([1, 1]);
  });

  test('does not keep an error, and rolls back what the request wrote', async () => {
    beforeAnswer = () => Promise.reject(new AppError('UPSTREAM_FAILED', 'Not today'));
    expect((await create('One', 'k1')).status).toBe(502);
    expect([await count(), await count('idempotency'), await count('policy_change')]).toEqual([0, 0, 1]);

    beforeAnswer = async () => {};
    const answer = await create('One', 'k1');
    expect(answer.status).toBe(201);
    expect(answer.headers.get('idempotency-replayed')).toBeNull();
  });

  test('belongs to one user, one tenant and one path', async () => {
    const ben = await api.as('ben@example.com');
    await joinTenant(ben);
    await create('One', 'k1');
    expect((await create('One', 'k1', ben)).headers.get('idempotency-replayed')).toBeNull();

    const [one, two] = [newID(), newID()];
    const touch = (id: string) =>
      ada.send('POST', `${path}/workflows/${id}/touch`, undefined, { 'idempotency-key': 'k1' });
    expect((await touch(one)).body.touched).toBe(one);
    expect((await touch(two)).status).toBe(409);
  });

  test('gives no stored answer to a caller who has lost the permission', async () => {
    await create('One', 'k1');
    await api.context.pool.query('delete from policy_rule where tenant_id = $1', [tenantID]);
    await api.context.pool.query('update tenant set policy_version = policy_version + 1 where id = $1', [tenantID]);

    expect((await create('One', 'k1')).status).toBe(403);
  });

  test('may be used again after a day', async () => {
    await create('One', 'k1');
    await api.context.pool.query(`update idempotency set expires_at = now() - interval '1 second'`);

    const second = await create('Two', 'k1');
    expect(second.status).toBe(201);
    expect(await count()).toBe(2);
    // From then on it belongs to the second request.
    expect((await create('Two', 'k1')).body).toEqual(second.body);
    expect((await create('One', 'k1')).status).toBe(409);
    expect(await count()).toBe(2);
  });

  test('is limited in length', async () => {
    expect((await create('One', 'x'.repeat(255))).status).toBe(201);
    expect(await create('One', 'x'.repeat(256))).toMatchObject({
      status: 400,
      body: {
        error: { code: 'VALIDATION_ERROR', message: 'Idempotency-Key: expected 1 to 255 characters, received 256' },
      },
    });
    expect((await create('One', '')).status).toBe(400);
  });

  test('works with a handler that has its own transaction', async () => {
    const send = (n: number) => ada.send('POST', `${path}/runs`, { n }, { 'idempotency-key': 'k1' });
    const [one, other] = await Promise.all([send(1), send(1)]);

    expect(one.body).toEqual(other.body);
    expect([one, other].map(({ headers }) => headers.get('idempotency-replayed')).sort()).toEqual(
      ['true', null].sort(),
    );
    expect((await send(2)).status).toBe(409);
    expect(await count('workflow_instance')).toBe(1);
  });

  describe('an Idempotency-Key for work outside of the database', () => {
    const send = (size = 1) => ada.send('POST', `${path}/outside`, { size }, { 'idempotency-key': 'k1' });

    test('makes a second request wait for the answer of the first', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      beforeAnswer = () => promise;
      const first = send();
      await expect.poll(() => calls).toBe(1);
      const meanwhile = [send(), send()];
      await sleep(300);
      resolve();
      const [{ headers, body }, ...others] = await Promise.all([first, ...meanwhile]);

      expect(headers.get('idempotency-replayed')).toBeNull();
      for (const other of others) {
        expect(other).toMatchObject({ status: 200, body });
        expect(other.headers.get('idempotency-replayed')).toBe('true');
      }
      expect(calls).toBe(1);
    });

    test('lets a waiting request begin when the first had no effect', async () => {
      const { promise, reject } = Promise.withResolvers<void>();
      beforeAnswer = () => promise;
      const first = send();
      await expect.poll(() => calls).toBe(1);
      const second = send();
      beforeAnswer = async () => {};
      reject(new AppError('RATE_LIMITED', 'No'));

      expect((await first).status).toBe(429);
      const { status, headers } = await second;
      expect([status, headers.get('idempotency-replayed'), calls]).toEqual([200, null, 2]);
    });

    test('lets 20 requests of a principal wait, and tells the others to come back', async () => {
      await send();
      await api.context.pool.query('update idempotency set status = 0, sealed = null');
      const ended: number[] = [];
      const requests = Array.from({ length: 22 }, async () => {
        const answer = await send();
        ended.push(answer.status);
        return answer;
      });
      await expect.poll(() => ended).toEqual([503, 503]);
      await api.context.pool.query(`update idempotency set status = 200, response = '{"text":"x"}'`);

      const answers = await Promise.all(requests);
      for (const { status, headers, body } of answers)
        if (status === 503) {
          expect(body).toMatchObject({ error: { code: 'UNAVAILABLE' } });
          expect([headers.get('retry-after'), headers.get('idempotency-replayed')]).toEqual(['5', null]);
        }
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
      expect(calls).toBe(1);
    });

    test('waits no longer than its limit', async () => {
      const pause = createKeyWaits(150).begin('a', { destroyed: false });
      const pauses = async () => {
        for (;;) await pause();
      };
      await expect(pauses()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    });

    test.each([
      ['a validation error', new AppError('VALIDATION_ERROR', 'No')],
      ['a timeout before a worker began', new AppError('UPSTREAM_TIMEOUT', 'No', { details: { begun: false } })],
      ['an unreachable server', new AppError('UPSTREAM_FAILED', 'No', { details: { reason: 'unreachable' } })],
      ['an unavailable queue', new AppError('UNAVAILABLE', 'No')],
      ['a rate limit', new AppError('RATE_LIMITED', 'No')],
    ])('can be used again after %s', async (_what, error) => {
      beforeAnswer = () => Promise.reject(error);
      expect((await send()).status).toBe(error.status);
      beforeAnswer = async () => {};
      expect(await send()).toMatchObject({ status: 200, body: { text: 'x' } });
      expect(calls).toBe(2);
    });

    test('can be used again by the user whose request had no effect, and by no other', async () => {
      const ben = await api.as('ben@example.com');
      await joinTenant(ben);
      const sendAs = (client: Client) =>
        client.send('POST', `${path}/outside`, { size: 1 }, { 'idempotency-key': 'k1' });
      expect((await sendAs(ben)).status).toBe(200);
      beforeAnswer = () => Promise.reject(new AppError('RATE_LIMITED', 'No'));
      expect((await sendAs(ada)).status).toBe(429);
      beforeAnswer = async () => {};

      expect((await sendAs(ben)).headers.get('idempotency-replayed')).toBe('true');
      expect((await sendAs(ada)).headers.get('idempotency-replayed')).toBeNull();
      expect(calls).toBe(3);
    });

    test.each([
      ['a connection that was lost', new AppError('UPSTREAM_FAILED', 'No', { details: { reason: 'lost' } })],
      ['a timeout after a worker began', new AppError('UPSTREAM_TIMEOUT', 'No', { details: { begun: true } })],
      ['an internal error', new Error('No')],
      ['a refusal after something was sent', new AppError('VALIDATION_ERROR', 'No', { details: { sent: true } })],
      [
        'a redirect to an unreachable server',
        new AppError('UPSTREAM_FAILED', 'No', { details: { reason: 'unreachable', sent: true } }),
      ],
      ['a worker that lost its database', new AppError('UNAVAILABLE', 'No', { details: { begun: true } })],
      ['a known reason under another code', new AppError('NODE_FAILED', 'No', { details: { reason: 'busy' } })],
      ['a login that was refused later', new AppError('INVALID_LOGIN', 'No')],
    ])('cannot be used again after %s', async (_what, error) => {
      beforeAnswer = () => Promise.reject(error);
      expect((await send()).status).toBe(error instanceof AppError ? error.status : 500);
      beforeAnswer = async () => {};
      expect(await send()).toMatchObject({
        status: 409,
        body: { error: { message: expect.stringMatching(/unknown/) } },
      });
      expect(calls).toBe(1);
    });

    test.each([
      ['an error of a database', new AppError('DB_ERROR', 'division by zero', { details: { postgres_code: '22012' } })],
      ['an answer that is too large', new AppError('PAYLOAD_TOO_LARGE', 'Ask for less')],
    ])('repeats the answer after %s', async (_what, error) => {
      beforeAnswer = () => Promise.reject(error);
      const first = await send();
      beforeAnswer = async () => {};
      const again = await send();

      expect(first).toMatchObject({ status: error.status, body: { error: { code: error.code } } });
      expect(first.headers.get('idempotency-replayed')).toBeNull();
      expect(again.status).toBe(error.status);
      expect(again.body).toEqual(first.body);
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expect(calls).toBe(1);
    });

    test.each(['a\0b', 'a\ud800b'])('repeats an answer that Postgres could not hold in clear', async (message) => {
      beforeAnswer = () => Promise.reject(new AppError('DB_ERROR', message));
      const first = await send();
      beforeAnswer = async () => {};

      expect((await send()).body).toEqual(first.body);
      expect(calls).toBe(1);
    });

    test.each([
      ['an answer', async () => undefined],
      ['an error', () => Promise.reject(new AppError('DB_ERROR', 'x'.repeat(20)))],
    ])('stores %s sealed, as the cache of queries is', async (_what, answering) => {
      beforeAnswer = answering;
      const first = await send(20);
      const { rows } = await api.context.pool.query('select * from idempotency where tenant_id = $1', [tenantID]);

      expect(JSON.stringify(first.body)).toContain('x'.repeat(20));
      expect(JSON.stringify(rows)).not.toContain('x'.repeat(20));
      // A process that does not know the column reads: done, and not stored.
      expect(rows[0]).toMatchObject({ status: 413, response: {} });
      const { status, body, headers } = await send(20);
      expect({ status, body }).toEqual({ status: first.status, body: first.body });
      expect(headers.get('idempotency-replayed')).toBe('true');

      await api.context.pool.query(`update idempotency set sealed = 'gs1.gone.' || repeat('A', 80)`);
      expect(await send(20)).toMatchObject({
        status: 409,
        body: { error: { message: expect.stringMatching(/is done/) } },
      });
    });

    test('says of a large error that the work is done', async () => {
      beforeAnswer = () =>
        Promise.reject(new AppError('DB_ERROR', 'large', { details: Array(400).fill('x'.repeat(5_000)) }));
      expect((await send()).body.error.code).toBe('DB_ERROR');
      expect(await send()).toMatchObject({
        status: 409,
        body: { error: { message: expect.stringMatching(/is done/) } },
      });
      expect(calls).toBe(1);
    });

    test('stores no large answer, and says that the work is done', async () => {
      expect((await send(2_000_000)).status).toBe(200);
      expect(await send(2_000_000)).toMatchObject({
        status: 409,
        body: { error: { message: expect.stringMatching(/is done/) } },
      });
    });
  });

  test('works outside of every tenant', async () => {
    const send = () => ada.send('POST', '/api/v1/tenants', { tenantTitle: 'T' }, { 'idempotency-key': 'k1' });

    expect((await send()).body).toEqual((await send()).body);
  });
});
