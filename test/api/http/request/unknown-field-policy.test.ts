import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { tenantRoute, userRoute } from '#api/context/routes.ts';
import { ID } from '#api/http/fields/id.ts';
import { findUnknownFields } from '#api/http/request/unknown-fields.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { JsonObject } from '#shared/core/json.ts';
import { type Client, type SmallApi, startSmallApi } from '#test/support/small-api.ts';

const words = { summary: 'A route of the test', description: 'A route of the test.' };
const Thing = z.object({
  title: z.string(),
  rowCount: z.int().optional(),
  parts: z.array(z.object({ partName: z.string() })).optional(),
  config: JsonObject.optional(),
});
const Options = z.object({ params: z.array(z.json()).optional() });
const calls: unknown[] = [];

async function create(body: unknown): Promise<{ id: string }> {
  calls.push(body);
  return { id: newID() };
}

const routes = [
  userRoute({
    ...words,
    name: 'createThing',
    method: 'post',
    path: '/api/v1/things',
    status: 201,
    body: Thing,
    response: z.object({ id: z.uuid() }),
    idempotent: 'transaction',
    handle: ({ body }) => create(body),
  }),
  userRoute({
    ...words,
    name: 'createThingOutside',
    method: 'post',
    path: '/api/v1/outside-things',
    body: Thing,
    response: z.object({ id: z.uuid() }),
    idempotent: 'outside',
    handle: ({ body }) => create(body),
  }),
  userRoute({
    ...words,
    name: 'createThingInTwoSteps',
    method: 'post',
    path: '/api/v1/stepped-things',
    body: Thing,
    response: z.object({ id: z.uuid(), step: z.int().optional() }),
    idempotent: 'transaction',
    handle: ({ body }) => create(body),
    complete: async (answer) => ({ ...answer, step: 2 }),
  }),
  userRoute({
    ...words,
    name: 'updateThing',
    method: 'patch',
    path: '/api/v1/things',
    body: Thing.partial(),
    response: z.object({ title: z.string().optional() }),
    handle: async ({ body }) => ({ title: body.title }),
  }),
  userRoute({
    ...words,
    name: 'failThing',
    method: 'post',
    path: '/api/v1/failing-things',
    body: Thing,
    response: z.object({}),
    idempotent: false,
    handle: () => Promise.reject(new AppError('CONFLICT', 'It is there already')),
  }),
  userRoute({
    ...words,
    name: 'readNames',
    method: 'post',
    path: '/api/v1/named-things',
    status: 201,
    body: Thing,
    response: z.object({ unknownFields: z.array(z.string()) }),
    idempotent: false,
    handle: async () => ({ unknownFields: ['mine'] }),
  }),
  userRoute({
    ...words,
    name: 'listThings',
    method: 'get',
    path: '/api/v1/things',
    query: z.object({ pageSize: z.string().optional() }),
    response: z.object({ things: z.array(z.string()) }),
    handle: async () => ({ things: [] }),
  }),
  userRoute({
    ...words,
    name: 'readThing',
    method: 'get',
    path: '/api/v1/thing',
    response: z.object({ thing: z.string() }),
    handle: async () => ({ thing: 'one' }),
  }),
  tenantRoute({
    ...words,
    name: 'createQuery',
    method: 'post',
    path: '/queries',
    permission: 'dataquery.create',
    body: z.object({ options: JsonObject, datasourceID: ID.optional() }),
    response: z.object({ id: z.uuid() }),
    idempotent: 'transaction',
    async handle({ body, reportUnknown }) {
      reportUnknown(findUnknownFields([Options], body.options), ['options']);
      return create(body);
    },
  }),
];

let api: SmallApi;
let ada: Client;
let tenantPath: string;
beforeAll(async () => {
  api = await startSmallApi(routes, { CORS_ORIGINS: 'https://app.example.com' });
  ada = await api.as('ada@example.com');
  const { tenantID, path } = await api.tenant(ada);
  await api.grant(tenantID, { subject: ada.userID, object: '*', action: '*' });
  tenantPath = path;
});
afterAll(() => api[Symbol.asyncDispose]());

const strict = { prefer: 'handling=strict' };
const body = { titel: 'x', title: 'x', parts: [{ partName: 'a' }, { name: 'b', partName: 'b' }], config: { any: 1 } };
const expected = [
  { path: ['titel'], message: 'not known here' },
  { path: ['parts', 1, 'name'], message: 'not known here' },
];

describe('unknown fields', () => {
  test('are named in the answer and dropped', async () => {
    const answer = await ada.send('POST', '/api/v1/things', body);

    expect(answer).toMatchObject({ status: 201, body: { success: true, unknownFields: expected } });
    expect(calls.at(-1)).toEqual({ title: 'x', parts: [{ partName: 'a' }, { partName: 'b' }], config: { any: 1 } });
    expect(answer.headers.get('preference-applied')).toBeNull();
  });

  test('are not mentioned when there are none', async () => {
    const answer = await ada.send('POST', '/api/v1/things', { title: 'x' });
    expect(Object.keys(answer.body)).toEqual(['success', 'id']);
  });

  test('are errors with strict handling, and the request has no effect', async () => {
    const before = calls.length;
    const answer = await ada.send('POST', '/api/v1/things', body, strict);

    expect(answer).toMatchObject({
      status: 400,
      body: {
        error: {
          code: 'VALIDATION_ERROR',
          message: 'titel: not known here; parts.1.name: not known here',
          details: { issues: expected.map((issue) => ({ ...issue, type: 'unrecognized_keys' })) },
        },
      },
    });
    expect(answer.body).not.toHaveProperty('unknownFields');
    expect(answer.headers.get('preference-applied')).toBe('handling=strict');
    expect(calls).toHaveLength(before);
  });

  test('are reported beside the other errors', async () => {
    const wrong = { rowcount: 1, title: 1 };
    const gently = await ada.send('POST', '/api/v1/things', wrong);
    expect(gently.body.error.details.issues.map(({ path }: { path: string[] }) => path)).toEqual([['title']]);
    expect(gently.body.unknownFields).toEqual([
      { path: ['rowcount'], message: 'not known here; did you mean rowCount?' },
    ]);
    const strictly = await ada.send('POST', '/api/v1/things', wrong, strict);
    expect(strictly.body.error.details.issues.map(({ path }: { path: string[] }) => path)).toEqual([
      ['title'],
      ['rowcount'],
    ]);
  });

  test('are named in the answer to a request that fails for another reason, because they may be the cause', async () => {
    const answer = await ada.send('POST', '/api/v1/failing-things', { title: 'x', rowCounts: 1 });
    expect(answer).toMatchObject({
      status: 409,
      body: {
        success: false,
        unknownFields: [{ path: ['rowCounts'], message: 'not known here; did you mean rowCount?' }],
      },
    });
  });

  test.each(['handling=lenient', 'handling=anything', 'return=minimal', 'handling=', 'strict'])(
    'are no errors with "%s"',
    async (prefer) => {
      const answer = await ada.send('POST', '/api/v1/things', body, { prefer });
      expect(answer).toMatchObject({ status: 201, body: { unknownFields: expected } });
      const applied = prefer === 'handling=lenient' ? prefer : null;
      expect(answer.headers.get('preference-applied')).toBe(applied);
    },
  );

  test('are listed up to a limit, and counted', async () => {
    const many = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`y${index}`, index]));
    const { body: answer } = await ada.send('POST', '/api/v1/things', { title: 'x', ...many });
    expect(answer).toMatchObject({ success: true, unknownFieldCount: 80 });
    expect(answer.unknownFields).toHaveLength(50);
    const { body: refused } = await ada.send('POST', '/api/v1/things', { ...many }, strict);
    expect(refused.error.details).toMatchObject({ issueCount: 81 });
    expect(refused.error.details.issues).toHaveLength(50);
  });

  test('are handled in the query string as in the body', async () => {
    const unknownFields = [{ path: ['pagesize'], message: 'not known here; did you mean pageSize?' }];
    expect((await ada.send('GET', '/api/v1/things?pagesize=1')).body).toEqual({
      success: true,
      unknownFields,
      things: [],
    });
    expect(await ada.send('GET', '/api/v1/things?pagesize=1', undefined, strict)).toMatchObject({ status: 400 });
    expect(await ada.send('GET', '/api/v1/thing?x=1')).toMatchObject({
      status: 200,
      body: { unknownFields: [{ path: ['x'], message: 'not known here' }] },
    });
    expect(await ada.send('GET', '/api/v1/thing?x=1', undefined, strict)).toMatchObject({ status: 400 });
  });

  test('do not replace a field of the answer', async () => {
    const answer = await ada.send('POST', '/api/v1/named-things', body);
    expect(answer).toMatchObject({ status: 201, body: { unknownFields: ['mine'] } });
  });

  test('are handled the same when only the handler can find them', async () => {
    const asked = { options: { parameters: [1] }, datasourceId: newID() };
    const options = { path: ['options', 'parameters'], message: 'not known here; did you mean params?' };
    const id = { path: ['datasourceId'], message: 'not known here; did you mean datasourceID?' };
    expect(await ada.send('POST', `${tenantPath}/queries`, asked)).toMatchObject({
      status: 200,
      body: { unknownFields: [id, options] },
    });
    const before = calls.length;
    const { options: wrong } = asked;
    expect(await ada.send('POST', `${tenantPath}/queries`, { options: wrong }, strict)).toMatchObject({
      status: 400,
      body: { error: { details: { issues: [{ ...options, type: 'unrecognized_keys' }] } } },
    });
    expect(calls).toHaveLength(before);
  });

  test('are the same in the answer to a repeated request', async () => {
    const requests: [path: string, body: unknown][] = [
      ['/api/v1/things', body],
      ['/api/v1/outside-things', body],
      ['/api/v1/stepped-things', body],
      [`${tenantPath}/queries`, { options: { parameters: [1] }, more: 1 }],
    ];
    for (const [path, request] of requests) {
      const key = { 'idempotency-key': newID() };
      const first = await ada.send('POST', path, request, key);
      const again = await ada.send('POST', path, request, key);

      expect(first.body.unknownFields, path).toHaveLength(2);
      expect(again.headers.get('idempotency-replayed'), path).toBe('true');
      expect(again.body, path).toEqual(first.body);
    }
  });

  test('are not looked for in the request of a stranger', async () => {
    const answer = await api.send('POST', `${tenantPath}/queries`, { more: 1 }, strict);
    expect(answer).toMatchObject({ status: 401, body: { error: { code: 'USER_AUTH_TOKEN_NOT_FOUND' } } });
    expect(answer.body).not.toHaveProperty('unknownFields');
  });
});

test('errors of a body are listed up to a limit, and counted', async () => {
  const parts = Array.from({ length: 60 }, () => ({ partName: 1 }));
  const { status, body: refused } = await ada.send('POST', '/api/v1/things', { title: 'x', parts });

  expect(status).toBe(400);
  expect(refused.error.details).toMatchObject({ issueCount: 60 });
  expect(refused.error.details.issues.map(({ path }: { path: unknown[] }) => path)).toEqual(
    Array.from({ length: 50 }, (_, index) => ['parts', index, 'partName']),
  );
  expect(refused.error.message.match(/partName: /g)).toHaveLength(50);
});

describe('an update', () => {
  test('with no known field is an error', async () => {
    for (const prefer of ['handling=lenient', 'handling=strict'])
      expect(await ada.send('PATCH', '/api/v1/things', { titel: 'x' }, { prefer })).toMatchObject({
        status: 400,
        body: { error: { message: 'titel: not known here; did you mean title?' } },
      });
  });

  test('with one known field changes that field', async () => {
    const answer = await ada.send('PATCH', '/api/v1/things', { titel: 'x', title: 'y' });
    expect(answer).toMatchObject({ status: 200, body: { title: 'y', unknownFields: [{ path: ['titel'] }] } });
  });

  test('with an empty body changes nothing', async () => {
    expect(await ada.send('PATCH', '/api/v1/things', {}, strict)).toMatchObject({ status: 200 });
  });
});

test('pages of other origins may send the preference and read whether it was applied', async () => {
  const origin = { origin: 'https://app.example.com' };
  const asked = await api.send('OPTIONS', '/api/v1/things', undefined, {
    ...origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,prefer',
  });
  expect(asked.headers.get('access-control-allow-headers')).toContain('prefer');
  const answer = await ada.send('POST', '/api/v1/things', { title: 'x' }, { ...origin, ...strict });
  expect(answer.headers.get('access-control-expose-headers')).toContain('preference-applied');
});
