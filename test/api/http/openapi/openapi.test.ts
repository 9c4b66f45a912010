import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { routeGroups } from '#api/app/routes.ts';
import { publicRoute, tenantRoute, userRoute } from '#api/context/routes.ts';
import { ID } from '#api/http/fields/id.ts';
import { describeRoutes } from '#api/http/openapi/describe-routes.ts';
import type { OpenAPI } from '#api/http/openapi/types.ts';
import { Json, JsonObject } from '#shared/core/json.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { type SmallApi, startSmallApi } from '#test/support/small-api.ts';

interface Tree {
  name: string;
  children: Tree[];
}
const Tree: z.ZodType<Tree> = z
  .object({ name: z.string(), children: z.lazy(() => z.array(Tree)) })
  .meta({ id: 'Tree' });
const Thing = z.object({ id: z.uuid(), tree: Tree }).meta({ id: 'Thing' });

const routes = [
  tenantRoute({
    name: 'getThing',
    method: 'get',
    path: '/things/:thingID',
    summary: 'A thing <b>& more</b>',
    description: 'A thing <b>& more</b>.',
    permission: 'workflow.read',
    object: ({ params }) => `workflow:${params.thingID}`,
    params: z.object({ thingID: ID }),
    query: z.object({ page: NumberText(z.int().min(1)).prefault(1), search: z.string() }),
    response: z.object({ thing: Thing }),
    handle: () => Promise.reject(new Error('not called')),
  }),
  tenantRoute({
    name: 'createThing',
    method: 'post',
    path: '/things',
    summary: 'Create',
    description: 'Create.',
    status: 201,
    permission: 'workflow.create',
    body: z
      .object({ title: z.string().max(255), config: JsonObject, any: Json.optional() })
      .transform((body) => ({ ...body, more: 1 }))
      .meta({ id: 'ThingCreate', examples: [{ title: 'A', config: {} }] }),
    response: z.object({ id: z.uuid(), tree: Tree.optional() }),
    idempotent: 'transaction',
    handle: () => Promise.reject(new Error('not called')),
  }),
  userRoute({
    name: 'sendMaybe',
    method: 'post',
    path: '/api/v1/maybe',
    summary: 'Optional body',
    description: 'Optional body.',
    body: z.object({ n: z.number() }).optional(),
    response: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
    idempotent: false,
    handle: () => Promise.reject(new Error('not called')),
  }),
  tenantRoute({
    name: 'uploadThing',
    method: 'post',
    path: '/things/upload',
    summary: 'Upload',
    description: 'Upload.',
    permission: 'workflow.update',
    upload: { maxBytes: 1 },
    response: z.object({ url: z.string() }),
    idempotent: false,
    handle: () => Promise.reject(new Error('not called')),
  }),
  publicRoute({
    name: 'getImage',
    method: 'get',
    path: '/webhooks/v1/image',
    summary: 'Image',
    description: 'Image.',
    produces: 'image/*',
    response: z.object({}),
    handle: () => Promise.reject(new Error('not called')),
  }),
  publicRoute({
    name: 'getOpen',
    method: 'get',
    path: '/webhooks/v1/open',
    summary: 'Get an open thing',
    description: 'Open.',
    response: z.object({}),
    handle: () => Promise.reject(new Error('not called')),
  }),
];

describe('the OpenAPI document', () => {
  const document = describeRoutes([{ tag: 'Things', description: 'What the test serves.', routes }]);
  const things = document.paths['/api/v1/tenants/{tenantID}/things'];
  const thing = document.paths['/api/v1/tenants/{tenantID}/things/{thingID}'];

  test('describes the parameters and body of a request', () => {
    expect(thing?.get).toMatchObject({
      operationId: 'getThing',
      tags: ['Things'],
      summary: 'A thing <b>& more</b>',
      description: 'A thing <b>& more</b>.\n\nPermission: `workflow.read`',
      'x-permission': 'workflow.read',
      security: [{ idToken: [] }, { apiKey: [] }, { apiKeyHeader: [] }],
      parameters: [
        { name: 'tenantID', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
        { name: 'thingID', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
        { name: 'page', in: 'query', required: false, schema: { type: 'integer', minimum: 1, default: 1 } },
        { name: 'search', in: 'query', required: true, schema: { type: 'string' } },
        { $ref: '#/components/parameters/Prefer' },
      ],
    });
    expect(things?.post?.parameters.map((parameter) => 'name' in parameter && parameter.name)).toContain(
      'Idempotency-Key',
    );
    expect(things?.post?.requestBody).toMatchObject({
      required: true,
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/ThingCreate' },
          example: { title: 'A', config: {} },
        },
      },
    });
    expect(document.components.schemas.ThingCreate).toMatchObject({
      required: ['title', 'config'],
      properties: { title: { maxLength: 255 } },
    });
    expect(document.paths['/api/v1/maybe']?.post?.requestBody?.required).toBe(false);
    expect(document.paths['/webhooks/v1/open']?.get?.security).toEqual([]);
  });

  test('marks routes that take a file and routes that send one', () => {
    const upload = document.paths['/api/v1/tenants/{tenantID}/things/upload']?.post;
    const image = document.paths['/webhooks/v1/image']?.get;
    const file = { type: 'string', format: 'binary' };

    expect(upload?.requestBody).toEqual({
      required: true,
      content: { 'multipart/form-data': { schema: { type: 'object', properties: { file }, required: ['file'] } } },
    });
    expect(Object.keys(upload?.responses ?? {})).toContain('413');
    expect(image?.responses['200']).toMatchObject({ content: { 'image/*': { schema: file } } });
  });

  test('describes answers with their envelope', () => {
    const { schemas } = document.components;
    expect(things?.post?.responses['201']).toMatchObject({
      description: 'Result of "Create"',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/CreateThingAnswer' } } },
    });
    expect(schemas.CreateThingAnswer).toMatchObject({
      properties: { success: { const: true }, id: { format: 'uuid' } },
      required: ['success', 'id'],
    });
    expect(document.paths['/webhooks/v1/open']?.get?.responses['200']).toMatchObject({ description: 'The open thing' });
    expect(schemas.SendMaybeAnswer).toMatchObject({
      anyOf: [{ required: ['success', 'a'] }, { required: ['success', 'b'] }],
    });
    expect(Object.keys(thing?.get?.responses ?? {})).toEqual(['200', '400', '401', '403', '404', '429', '503']);
  });

  test('describes the handling of unknown fields once', () => {
    const { parameters, headers, schemas } = document.components;
    expect(parameters.Prefer).toMatchObject({ name: 'Prefer', in: 'header', required: false });
    expect(headers.PreferenceApplied?.schema.enum).toContain('handling=strict');
    expect(things?.post?.responses['201']).toMatchObject({
      headers: { 'Preference-Applied': { $ref: '#/components/headers/PreferenceApplied' } },
    });
    for (const envelope of [schemas.Success, schemas.Failure])
      expect(envelope?.properties?.unknownFields).toEqual({ $ref: '#/components/schemas/UnknownFields' });
    expect(schemas.UnknownField?.required).toEqual(['path', 'message']);
  });

  test.each([
    ['of these routes', document],
    ['of the service', describeRoutes(routeGroups)],
  ])('%s is complete: references resolve, names are unique, path parameters are declared', (_whose, whole) => {
    for (const [reference = ''] of JSON.stringify(whole).matchAll(/(?<="\$ref":")[^"]+/g))
      expect(follow(whole, reference), reference).toBeDefined();
    expect(JSON.stringify(whole)).not.toContain('$defs');

    const operations = Object.entries(whole.paths).flatMap(([path, methods]) =>
      Object.values(methods).map((operation) => ({ path, operation })),
    );
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const tags = whole.tags.map(({ name }) => name);
    expect(new Set(tags).size).toBe(tags.length);
    expect(tags).toEqual(expect.arrayContaining(operations.flatMap(({ operation }) => operation.tags)));
    for (const { path, operation } of operations) {
      const declared = operation.parameters
        .filter((parameter) => 'in' in parameter)
        .filter((parameter) => parameter.in === 'path')
        .map(({ name }) => `{${name}}`);
      expect(declared).toEqual(path.match(/\{\w+\}/g) ?? []);
    }
  });

  test('has operation ids in camelCase, which generators can turn into other cases', () => {
    const { paths } = describeRoutes(routeGroups);
    for (const { operationId } of Object.values(paths).flatMap((methods) => Object.values(methods)))
      expect(operationId).toMatch(/^[a-z]+([A-Z][a-z]+)+$/);
  });

  test('rejects two routes of one name', () => {
    const group = { tag: 'Things', description: 'What the test serves.', routes };
    expect(() => describeRoutes([group, { ...group, tag: 'Others' }])).toThrow('Two routes are called getThing');
  });

  function follow(whole: OpenAPI, reference: string): unknown {
    return reference
      .slice('#/'.length)
      .split('/')
      .reduce((at: unknown, key) => (at as Record<string, unknown> | undefined)?.[key], whole);
  }
});

describe('the document of a server', () => {
  let api: SmallApi;
  beforeAll(async () => {
    api = await startSmallApi(routes);
  });
  afterAll(() => api[Symbol.asyncDispose]());

  test('includes the routes of the development issuer', async () => {
    const { body } = await api.send('GET', '/openapi.json');

    expect(body.openapi).toBe('3.1.0');
    expect(Object.keys(body.paths)).toContain('/dev/token');
  });

  test('is written once, since anyone may ask for it and it is long', async () => {
    await api.send('GET', '/openapi.json');
    const written = vi.spyOn(JSON, 'stringify');
    const { body } = await api.send('GET', '/openapi.json');
    const values = written.mock.calls.map(([value]) => value);
    written.mockRestore();

    expect(body.openapi).toBe('3.1.0');
    expect(values).not.toContainEqual(body);
  });

  test('has the document of the events beside it, which names the server that was asked', async () => {
    const { status, body } = await api.send('GET', '/asyncapi.json');

    expect(status).toBe(200);
    expect(body.servers.api.host).toBe(new URL(api.url).host);
    expect(Object.keys(body.operations)).toContain('send_workflow_node_update');
  });
});
