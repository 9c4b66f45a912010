import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runSync } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { bindQuery, checkQuery } from '#shared/datasources/queries/bind.ts';
import { type DatasourceDefinition, defineDatasource } from '#shared/datasources/types/define-datasource.ts';

const definition: DatasourceDefinition = defineDatasource({
  type: 'sample',
  label: 'Sample',
  category: 'api',
  options: z.object({}),
  query: z.object({
    sql: z.string().default(''),
    body: z.union([z.string(), z.record(z.string(), z.unknown())]).default(''),
    path: z.string().default(''),
    topic: z.string().default(''),
    graph: z.string().default(''),
    limit: z.int().min(1).default(10),
    headers: z.array(z.object({ key: z.string(), value: z.string() })).default([]),
  }),
  templates: {
    sql: { as: 'statement', dialect: 'postgresql' },
    body: { as: 'json' },
    path: { as: 'path' },
    topic: { as: 'topic' },
    graph: { as: 'none', instead: 'must be a variable' },
  },
  writes: () => null,
  defaults: { options: {}, query: {} },
});

const inputs: JsonObject = { n: 5, text: 'a"b\\c\n', dots: '..', path: 'x/../y?z#', list: [1, { a: null }] };
const bound = (query: JsonObject) => runSync(bindQuery(definition, query, inputs)).query as Record<string, unknown>;

test('a field that is one template takes the value with its type, and the schema checks it', () => {
  expect(bound({ limit: '{{inputs.n}}' })).toMatchObject({ limit: 5 });
  expect(() => bound({ limit: '{{inputs.text}}' })).toThrow(/limit/);
  expect(bound({ headers: [{ key: 'x', value: 'v{{inputs.n}}' }] })).toMatchObject({
    headers: [{ key: 'x', value: 'v5' }],
  });
});

describe('JSON as text', () => {
  test.each<[string, unknown]>([
    ['{"a": {{inputs.n}}, "b": {{inputs.list}}}', { a: 5, b: [1, { a: null }] }],
    ['{"a": "{{inputs.text}}!"}', { a: 'a"b\\c\n!' }],
    ['{"a": {{inputs.text}}}', { a: 'a"b\\c\n' }],
    ['{"a\\"": "\\"{{inputs.n}}"}', { 'a"': '"5' }],
    ['{"a": {{inputs.missing}}}', { a: null }],
  ])('%s', (body, value) => {
    expect(JSON.parse(String(bound({ body }).body))).toEqual(value);
  });

  test('takes values as values when it is given as JSON itself', () => {
    expect(bound({ body: { a: '{{inputs.list}}' } })).toMatchObject({ body: { a: [1, { a: null }] } });
  });

  test('is refused when it is not JSON after binding', () => {
    expect(() => bound({ body: '{"a": {{inputs.n}}' })).toThrow(/body: is not valid JSON/);
  });
});

test('a value is one level of a topic or, alone, the whole topic, and never a wildcard', () => {
  const values = { id: 'a b', whole: 'a/b', one: '+', all: '#' };
  const topicOf = (topic: string) => (runSync(bindQuery(definition, { topic }, values)).query as JsonObject).topic;

  expect(topicOf('rooms/{{inputs.id}}/+/#')).toBe('rooms/a b/+/#');
  expect(topicOf('{{inputs.whole}}')).toBe('a/b');
  for (const topic of [
    'x/{{inputs.whole}}',
    '{{inputs.one}}',
    'x/{{inputs.one}}',
    '{{inputs.all}}',
    'x/{{inputs.all}}',
  ])
    expect(() => topicOf(topic), topic).toThrow(/topic: a value/);
});

test('a value is one segment of a path and cannot be ".."', () => {
  expect(bound({ path: '/a/{{inputs.path}}/b' })).toMatchObject({ path: '/a/x%2F..%2Fy%3Fz%23/b' });
  expect(() => bound({ path: '/a/{{inputs.dots}}/b' })).toThrow(/path: a value cannot be "." or "\.\."/);
  expect(() => runSync(bindQuery(definition, { path: '/a/.{{inputs.d}}' }, { d: '.' }))).toThrow(
    /path: a value cannot be/,
  );
});

test('templates are refused in languages with their own parameters', () => {
  const [issue] = runSync(checkQuery(definition, { graph: '{ user(id: "{{inputs.n}}") }' }));

  expect(issue).toMatchObject({ path: ['graph'], message: '{{inputs.n}} must be a variable' });
});

test('errors are reported when the query is saved, with the path of the field', () => {
  const messages = runSync(
    checkQuery(definition, {
      sql: 'select {{ctx.a}} from "{{inputs.b}}"',
      limit: 0,
      timeoutSeconds: -1,
      inputDefinitions: [{ key: 'a' }],
    }),
  ).map(({ path, message }) => `${path.join('.')}: ${message}`);

  expect(messages).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^timeoutSeconds: /),
      expect.stringMatching(/^limit: /),
      expect.stringMatching(/^sql: .*must begin with inputs/),
      expect.stringMatching(/^sql: there is no input "b"; expected one of a/),
      expect.stringMatching(/^sql: .*inside a quoted name/),
    ]),
  );
});

test('a credential in the headers of a query is refused where it would be stored', () => {
  const faults = (key: string, value: string) =>
    runSync(
      checkQuery(definition, {
        headers: [
          { key: 'x', value: 'y' },
          { key, value },
        ],
      }),
    );

  expect(faults('Authorization', 'Bearer abc')).toEqual([
    { path: ['headers', 1, 'value'], message: expect.stringContaining('is a credential') },
  ]);
  expect(faults('X-API-Key', 'abc')).toHaveLength(1);
  expect(faults('authorization', 'Bearer {{inputs.token}}')).toEqual([]);
  expect(faults('authorization', '')).toEqual([]);
  expect(faults('x-trace', 'abc')).toEqual([]);
});
