import { describe, expect, test } from 'vitest';
import { routeGroups } from '#api/app/routes.ts';
import type { Schema } from '#api/http/openapi/types.ts';
import { composedTools } from '#api/tools/composed.ts';
import { describingTools } from '#api/tools/describe.ts';
import { ANY_JSON, plainSchema } from '#api/tools/plain-schema.ts';
import { readArguments } from '#api/tools/read-arguments.ts';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import { dialects } from '#test/support/tool-schemas.ts';

const tools = [
  ...(await runCooperatively(describingTools(routeGroups))),
  ...composedTools({ oauth: { publicURL: 'https://gantry.example.com' } as never }),
];

test.each(dialects)('$name takes the inputs of every tool', ({ faultsOf }) => {
  const faults = tools.flatMap(({ name, inputSchema }) => faultsOf(inputSchema).map((fault) => `${name} ${fault}`));
  expect(faults).toEqual([]);
  expect(tools.length).toBeGreaterThan(250);
});

test('every name is short enough for clients that put the name of the server before it', () => {
  expect(tools.map(({ name }) => name).filter((name) => !/^[a-z][a-z0-9_]{0,46}$/.test(name))).toEqual([]);
});

describe('the checker of dialects', () => {
  const field = (schema: Schema) => ({ type: 'object', properties: { it: schema } });
  test.each<[string, Schema, string[]]>([
    ['a reference', field({ $ref: '#/$defs/It' }), ['Gemini', 'OpenAI strict']],
    ['no type', field({ description: 'Anything' }), ['Gemini', 'OpenAI strict']],
    ['a list of types', field({ type: ['string', 'null'] }), ['Gemini', 'OpenAI strict']],
    ['a schema of other fields', field({ type: 'object', additionalProperties: {} }), ['Gemini', 'OpenAI strict']],
    ['names of fields', field({ type: 'object', propertyNames: {} }), ['Gemini', 'OpenAI strict']],
    ['a constant', field({ type: 'string', const: 'a' }), ['Gemini', 'OpenAI strict']],
    ['what must not be', field({ not: {} }), ['Gemini', 'OpenAI strict']],
    ['a list by places', field({ type: 'array', prefixItems: [{ type: 'string' }] }), ['Gemini', 'OpenAI strict']],
    ['an unknown keyword', field({ type: 'string', 'x-reference': 'role' }), dialects.map(({ name }) => name)],
    ['another format', field({ type: 'string', format: 'uri' }), ['Gemini', 'OpenAI strict']],
    ['numbers to choose from', field({ type: 'integer', enum: [1, 2] }), ['Gemini', 'OpenAI strict']],
    ['alternatives at the root', { anyOf: [{ type: 'object' }] }, ['OpenAI strict']],
    ['a keyword of another type', field({ type: 'string', description: 1 as never }), dialects.map(({ name }) => name)],
    ['a required field that is not declared', { type: 'object', required: ['a'] }, ['JSON Schema 2020-12']],
  ])('refuses %s', (_what, schema, by) => {
    expect(dialects.filter(({ faultsOf }) => faultsOf(schema).length > 0).map(({ name }) => name)).toEqual(by);
  });
});

const free = { description: 'Any JSON value' };
const form: Schema = {
  type: 'object',
  properties: {
    from: { anyOf: [{ type: 'string', enum: ['start'] }, { $ref: '#/components/schemas/FromNode' }], default: 'start' },
    folderID: { anyOf: [{ type: 'string', format: 'uuid', 'x-reference': 'folder' }, { type: 'null' }] },
    path: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    data: free,
    args: { type: 'object', propertyNames: { type: 'string' }, additionalProperties: free },
    labels: { type: 'object', additionalProperties: { type: 'integer' } },
    version: { const: 1, type: 'number' },
    old: { type: 'string', deprecated: true },
    gone: { not: {} },
    at: { type: 'string', format: 'date-time' },
    times: { type: 'array', prefixItems: [{ type: 'number', exclusiveMinimum: 0 }] },
    status: { anyOf: [{ type: 'string', enum: ['ok'] }, { type: 'integer' }] },
  },
  required: ['data', 'gone'],
};
const FromNode: Schema = { type: 'object', properties: { nodeID: { type: 'string' } }, required: ['nodeID'] };
const made = plainSchema(form, { FromNode }, ['status']);

test('a form says in words what the dialect cannot', () => {
  expect(made).toEqual({
    type: 'object',
    properties: {
      from: { type: 'string', description: `Default: "start". \`start\`, or an object with \`nodeID\`. ${ANY_JSON}` },
      folderID: { type: 'string', description: 'May be null' },
      path: { type: 'array', items: { type: 'string' } },
      data: { type: 'string', description: `Any JSON value. ${ANY_JSON}` },
      args: { type: 'object' },
      labels: { type: 'object', description: 'Each value: a number' },
      version: { type: 'number', minimum: 1, maximum: 1 },
      at: { type: 'string', format: 'date-time' },
      times: { type: 'array', items: { type: 'number', description: 'More than 0' } },
      status: { type: 'string' },
    },
    required: ['data'],
  });
});

test('JSON within texts is read where the form says so, and where it asks for an object or a list', () => {
  const read = (args: object) => readArguments(made, { ...args });
  expect(read({ from: 'json:{"nodeID":"a"}', data: 'json:42', args: '{"a":[1]}', path: '["a","b"]' })).toEqual({
    from: { nodeID: 'a' },
    data: 42,
    args: { a: [1] },
    path: ['a', 'b'],
  });
  const others = { from: 'start', data: '42', args: 'no JSON', path: 'public', folderID: 'json:1', status: 'json:1' };
  expect(read(others)).toEqual(others);
  expect(read({ data: 'json:no JSON', args: { a: 'json:1' } })).toEqual({
    data: 'json:no JSON',
    args: { a: 'json:1' },
  });
  expect(read({ data: 'json:12345678901234567890' })).toEqual({ data: '12345678901234567890' });
});
