import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { tenantRoute, userRoute } from '#api/context/routes.ts';
import { ID } from '#api/http/fields/id.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { type Client, type SmallApi, startSmallApi } from '#test/support/small-api.ts';

const WorkflowID = z.object({ workflowID: ID });

const routes = [
  tenantRoute({
    name: 'listWorkflows',
    method: 'get',
    path: '/workflows',
    summary: 'List',
    description: 'List.',
    permission: 'workflow.list',
    filter: true,
    response: z.object({ ids: z.array(z.string()) }),
    async handle({ em, visible }) {
      const workflows = await em.find(Workflow, await visible('workflow.read'));
      return { ids: workflows.map(({ id }) => id) };
    },
  }),
  tenantRoute({
    name: 'renameWorkflow',
    method: 'patch',
    path: '/workflows/:workflowID',
    summary: 'Rename',
    description: 'Rename.',
    permission: 'workflow.update',
    object: ({ params }) => `workflow:${params.workflowID}`,
    params: WorkflowID,
    query: z.object({ dry: NumberText(z.int()).optional() }),
    body: z.object({ title: z.string().min(1), tags: z.array(z.object({ name: z.string() })).default([]) }),
    response: z.object({ title: z.string() }),
    async handle({ params, body, em }) {
      const workflow = await em.findOne(Workflow, { id: params.workflowID });
      if (!workflow) throw new AppError('NOT_FOUND', 'Workflow not found');
      return { title: body.title, secret: 'does not leave' };
    },
  }),
  tenantRoute({
    name: 'createPair',
    method: 'post',
    path: '/pairs',
    summary: 'Needs two permissions',
    description: 'Needs two permissions.',
    access: ({ body }) => [
      { permission: 'workflow.create', object: 'workflow:*' },
      { permission: 'dataquery.execute', object: `dataquery:${body.dataQueryID}` },
    ],
    body: z.object({ dataQueryID: ID }),
    response: z.object({}),
    idempotent: false,
    handle: async () => ({}),
  }),
  userRoute({
    name: 'getCurrentUser',
    method: 'get',
    path: '/api/v1/whoami',
    summary: 'Who',
    description: 'Who.',
    response: z.object({ userID: z.string(), email: z.string().nullable() }),
    handle: async ({ identity }) => identity,
  }),
];

describe('the order of checks', () => {
  let api: SmallApi;
  let ada: Client;
  let ben: Client;
  let tenantID: string;
  let path: string;
  beforeAll(async () => {
    api = await startSmallApi(routes);
    ada = await api.as('ada@example.com');
    ben = await api.as('ben@example.com');
    ({ tenantID, path } = await api.tenant(ada));
  });
  afterAll(() => api[Symbol.asyncDispose]());

  async function aWorkflow(tenant: string): Promise<string> {
    const id = newID();
    await api.context.pool.query(
      `insert into workflow (id, tenant_id, title, version_id, creator_id) values ($1, $2, 'One', $1, $1)`,
      [id, tenant],
    );
    return id;
  }

  test('an invalid credential is reported before anything else', async () => {
    const wellFormed = `${path}/workflows/${newID()}`;
    for (const [where, body] of [
      [wellFormed, { title: 'x' }],
      [wellFormed, '{"title": '],
      [`${path}/workflows/not-an-id`, {}],
      ['/api/v1/tenants/not-an-id/workflows/x', {}],
    ] as const) {
      const answer = await api.send('PATCH', where, body);
      expect(answer.status).toBe(401);
      expect(answer.body).toEqual({
        success: false,
        error: { code: 'USER_AUTH_TOKEN_NOT_FOUND', message: expect.any(String) },
      });
    }
    expect((await api.send('GET', '/api/v1/whoami')).status).toBe(401);
  });

  test('a stranger gets the same answer for every tenant and every body', async () => {
    const there = await aWorkflow(tenantID);
    const answers = await Promise.all([
      ben.send('PATCH', `${path}/workflows/${there}`, { title: 'x' }),
      ben.send('PATCH', `${path}/workflows/${newID()}`, { title: 'x' }),
      ben.send('PATCH', `${path}/workflows/not-an-id`, { title: 'x' }),
      ben.send('PATCH', `${path}/workflows/${there}`, { title: 7 }),
      ben.send('PATCH', `${path}/workflows/${there}`, '{"title": '),
      ben.send('PATCH', `/api/v1/tenants/${newID()}/workflows/${there}`, { title: 'x' }),
      ben.send('GET', `${path}/workflows`),
    ]);

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 403));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers[0]?.body.error.code).toBe('PERMISSION_DENIED');
  });

  test('a malformed tenant id is a malformed request for every signed-in user', async () => {
    const answer = await ben.send('GET', '/api/v1/tenants/not-an-id/workflows');

    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringMatching(/^tenantID: /),
    });
  });

  test('a member gets every error of a malformed request', async () => {
    const malformedID = await ada.send('PATCH', `${path}/workflows/nope`, { title: 'x' });
    expect(malformedID.body.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringMatching(/^workflowID: /),
    });

    const answer = await ada.send('PATCH', `${path}/workflows/${newID()}?dry=maybe`, {
      title: '',
      tags: [{ name: 1 }],
    });
    expect(answer.status).toBe(400);
    expect(answer.body.error.code).toBe('VALIDATION_ERROR');
    const issues = [
      { path: ['dry'], message: 'expected a whole number, received "maybe"', type: 'invalid_type' },
      { path: ['title'], message: 'expected a text that is not empty, received ""', type: 'too_small' },
      { path: ['tags', 0, 'name'], message: 'expected a text, received 1', type: 'invalid_type' },
    ];
    expect(answer.body.error.message).toBe(
      issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '),
    );
    expect(answer.body.error.details.issues).toEqual(issues);
  });

  test('a member without the permission gets the same answer whether or not the id exists', async () => {
    const there = await aWorkflow(tenantID);

    for (const id of [there, newID()]) {
      const answer = await ada.send('PATCH', `${path}/workflows/${id}`, { title: 'x' });
      expect(answer.status).toBe(403);
    }
  });

  test('a member with the permission finds objects of the tenant, and none of another tenant', async () => {
    const other = await api.tenant(ada);
    const [own, foreign] = [await aWorkflow(tenantID), await aWorkflow(other.tenantID)];
    await api.grant(tenantID, { subject: ada.userID, object: 'workflow:*', action: 'update' });

    const found = await ada.send('PATCH', `${path}/workflows/${own.toUpperCase()}`, { title: 'x' });
    expect(found.status).toBe(200);
    expect(found.body).toEqual({ success: true, title: 'x' });
    const absent = await ada.send('PATCH', `${path}/workflows/${foreign}`, { title: 'x' });
    expect(absent.status).toBe(404);
    expect(absent.body.error.code).toBe('NOT_FOUND');
  });

  test('a route with several permissions requires all of them', async () => {
    const dataQueryID = newID();
    await api.grant(tenantID, { subject: ada.userID, object: 'workflow:*', action: 'create' });
    expect((await ada.send('POST', `${path}/pairs`, { dataQueryID })).status).toBe(403);

    await api.grant(tenantID, { subject: ada.userID, object: `dataquery:${dataQueryID}`, action: 'execute' });
    expect((await ada.send('POST', `${path}/pairs`, { dataQueryID })).status).toBe(200);
    expect((await ada.send('POST', `${path}/pairs`, { dataQueryID: newID() })).status).toBe(403);
  });

  test('a list requires the permission on at least one object, and shows only the readable ones', async () => {
    const cleo = await api.as('cleo@example.com');
    const its = await api.tenant(cleo);
    const [id, other] = [await aWorkflow(its.tenantID), await aWorkflow(its.tenantID)];
    expect((await cleo.send('GET', `${its.path}/workflows`)).status).toBe(403);

    await api.grant(its.tenantID, { subject: cleo.userID, object: `workflow:${id}`, action: '*' });
    expect((await cleo.send('GET', `${its.path}/workflows`)).body).toEqual({ success: true, ids: [id] });

    await api.grant(its.tenantID, { subject: cleo.userID, object: '*', action: '*' });
    expect((await cleo.send('GET', `${its.path}/workflows`)).body.ids.sort()).toEqual([id, other].sort());
  });

  test('a revoked permission has no effect from the next request on', async () => {
    const dora = await api.as('dora@example.com');
    const its = await api.tenant(dora);
    await api.grant(its.tenantID, { subject: dora.userID, object: '*', action: '*' });
    expect((await dora.send('GET', `${its.path}/workflows`)).status).toBe(200);

    await api.context.pool.query('delete from policy_rule where tenant_id = $1', [its.tenantID]);
    await api.context.pool.query('update tenant set policy_version = policy_version + 1 where id = $1', [its.tenantID]);
    expect((await dora.send('GET', `${its.path}/workflows`)).status).toBe(403);

    await api.context.pool.query('delete from membership where tenant_id = $1', [its.tenantID]);
    expect((await dora.send('GET', `${its.path}/workflows`)).status).toBe(403);

    await api.context.pool.query('update app_user set is_disabled = true where id = $1', [dora.userID]);
    const answers = await Promise.all([dora.send('GET', `${its.path}/workflows`), dora.send('GET', '/api/v1/whoami')]);
    expect(answers.map(({ status }) => status)).toEqual([401, 401]);
  });

  test('a tenant that is being deleted is not found', async () => {
    const its = await api.tenant(ada);
    await api.grant(its.tenantID, { subject: ada.userID, object: '*', action: '*' });
    await api.context.pool.query('update tenant set deleting_at = now() where id = $1', [its.tenantID]);

    expect((await ada.send('GET', `${its.path}/workflows`)).status).toBe(403);
  });

  test('concurrent requests share one query, and each gets its own answer', async () => {
    const people = await Promise.all(Array.from({ length: 10 }, (_, n) => api.as(`many${n}@example.com`)));

    const answers = await Promise.all(people.map((person) => person.send('GET', '/api/v1/whoami')));

    expect(answers.map(({ body }) => body.userID)).toEqual(people.map(({ userID }) => userID));
  });
});
