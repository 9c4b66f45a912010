import { buildSchema, graphql as execute, parse } from 'graphql';
import { expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { graphql } from '#shared/datasources/types/graphql.ts';
import { openDatasource } from '#test/support/connector.ts';
import { json, startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import { createOutbound } from '#workers/outbound/gate.ts';

const schema = buildSchema(`
  input Point { x: Float!, tags: [String!] }
  type User { id: ID!, name: String, friends: [User!]! }
  type Query { user(id: ID!): User, echo(text: String, point: Point): String, fail: String }
  type Mutation { rename(id: ID!, name: String!): User }
`);
const ada = { id: '1', name: 'Ada', friends: [] };
const rootValue = {
  user: ({ id }: { id: string }) => ({ ...ada, id }),
  echo: (values: unknown) => JSON.stringify(values),
  rename: ({ id, name }: { id: string; name: string }) => ({ ...ada, id, name }),
  fail: () => {
    throw new Error('it broke with key-0123');
  },
};

/** A real executor of GraphQL behind HTTP. */
async function open(options: JsonObject = {}) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(
    await startHTTP(async ({ headers, body }, response) => {
      if (headers['x-api-key'] !== 'key-0123') return json(response, {}, 401);
      const { query, variables, operationName } = JSON.parse(body);
      json(response, await execute({ schema, source: query, rootValue, variableValues: variables, operationName }));
    }),
  );
  const datasource = stack.use(
    await openDatasource(graphql, {
      endpoint: `${server.origin}/graphql`,
      authType: 'apiKey',
      apiKey: { value: 'key-0123' },
      ...options,
    }),
  );
  const owned = stack.move();
  return { server, datasource, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

test('values are passed as variables and cannot change the query', async () => {
  await using api = await open();
  const evil = '") { id } fail #';

  const { data } = await api.datasource.execute(
    {
      query: 'query Q($text: String, $point: Point) { echo(text: $text, point: $point) }',
      variables: '{"text": "<{{inputs.evil}}>", "point": {"x": {{inputs.x}}, "tags": {{inputs.tags}}}}',
      operationName: 'Q',
    },
    { evil, x: 1.5, tags: ['a', 'b"'] },
  );

  expect(JSON.parse((data as { echo: string }).echo)).toEqual({
    text: `<${evil}>`,
    point: { x: 1.5, tags: ['a', 'b"'] },
  });
  await expect(
    Promise.try(() => api.datasource.execute({ query: '{ user(id: "{{inputs.evil}}") { id } }' }, { evil })),
  ).rejects.toMatchObject({ code: 'VALIDATION_ERROR', message: /must be a variable/ });
});

test('variables that are a text are sent digit by digit', async () => {
  await using api = await open();
  const variables = '{"id": 12345678901234567890.5, "list": [{{inputs.n}}, 1e400]}';

  await api.datasource.execute({ query: 'query ($id: ID!) { user(id: $id) { id } }', variables }, { n: '9' });

  expect(api.server.seen[0]?.body).toContain('"variables":{"id": 12345678901234567890.5, "list": ["9", 1e400]}}');
  await expect(api.datasource.execute({ query: '{ fail }', variables: '[1]' })).rejects.toThrow('must be an object');
});

test('a mutation must be declared as one', async () => {
  await using api = await open();
  const query = 'mutation($name: String!) { rename(id: "1", name: $name) { name } }';
  const variables = { name: '{{inputs.name}}' };

  await expect(api.datasource.execute({ query, variables }, { name: 'B' })).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    message: /operationType/,
  });
  const { data } = await api.datasource.execute(
    { query, variables, operationType: 'mutation' },
    { name: 'B' },
    { idempotencyKey: 'k' },
  );

  expect(data).toEqual({ rename: { name: 'B' } });
  expect(api.server.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['k']);
});

test('an error has its position, and no secret', async () => {
  await using api = await open();

  await expect(api.datasource.execute({ query: '{ user(' })).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { line: 1 },
  });
  await expect(api.datasource.execute({ query: '{ nothing }' })).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    message: /Cannot query field "nothing"/,
  });
  const error = await api.datasource.execute({ query: '{ fail }' }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'UPSTREAM_FAILED', details: { errors: [{ path: ['fail'] }] } });
  expect(String(error) + JSON.stringify(error)).not.toContain('key-0123');
});

test('the connection test tells whether the server is reachable', async () => {
  await using api = await open();
  await api.datasource.test();
  await using wrong = await open({ apiKey: { value: 'wrong-0123' } });
  await expect(wrong.datasource.test()).rejects.toMatchObject({ details: { reason: 'authentication' } });
  await using shut = await openDatasource(
    graphql,
    { endpoint: api.server.origin },
    { outbound: createOutbound({ allow: [] }) },
  );
  await expect(shut.test()).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
  await using plain = await startHTTP((_request, response) => void response.end('<html>'));
  await using other = await openDatasource(graphql, { endpoint: plain.origin });
  await expect(other.test()).rejects.toThrow(/is not GraphQL/);
});

test('an abort reaches the server', async () => {
  await using silent = await startHTTP(() => undefined);
  await using api = await openDatasource(graphql, { endpoint: silent.origin });

  await expect(api.execute({ query: '{ a }' }, {}, { signal: AbortSignal.timeout(200) })).rejects.toMatchObject({
    name: 'TimeoutError',
  });

  await eventually(() => expect(silent.abandoned()).toBe(1));
});

test('the schema can be browsed', async () => {
  await using api = await open();
  const browse = (...path: string[]) => api.datasource.connection.browse?.(path, AbortSignal.timeout(5_000));

  expect(await browse()).toEqual([
    { name: 'Query', kind: 'query', isContainer: true },
    { name: 'Mutation', kind: 'mutation', isContainer: true },
  ]);
  expect(await browse('Query', 'user')).toEqual([
    { name: 'id', kind: 'field', isContainer: false, type: 'ID!' },
    { name: 'name', kind: 'field', isContainer: false, type: 'String' },
    { name: 'friends', kind: 'field', isContainer: true, type: '[User!]!' },
  ]);
  expect(() => parse(api.server.seen.map(({ body }) => JSON.parse(body).query).join('\n'))).not.toThrow();
});
