import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { QueryOptions } from '#shared/datasources/queries/options.ts';
import type { DatasourceDefinition } from '#shared/datasources/types/define-datasource.ts';
import { datasources } from '#shared/datasources/types/index.ts';
import { presets } from '#shared/datasources/types/presets/index.ts';
import { queues } from '#shared/messaging/queues/index.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';
import { vendors } from '#test/support/preset-expectations.ts';
import { connectorOf } from '#workers/datasources/connectors/index.ts';
import { executorOf } from '#workers/nodes/index.ts';
import { processors } from '#workers/processors/index.ts';

test('every declared kind and type has an implementation, and no other exists', async () => {
  expect(Object.keys(processors).sort()).toEqual(queues.map(({ name }) => name).sort());
  for (const definition of datasources) expect(await connectorOf(definition), definition.type).toBeTypeOf('function');
  for (const definition of nodes) expect(executorOf(definition), definition.kind).toBeTypeOf('function');
});

test('every node kind and every datasource type has tests', () => {
  const presetTypes: readonly string[] = presets.map(({ type }) => type);
  const types = datasources.map(({ type }) => type).filter((type) => !presetTypes.includes(type));
  const files = [
    ...nodes.map(({ kind }) => `nodes/kinds/${kind.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`),
    ...types.map((type) => `datasources/connectors/${type}`),
  ].map((name) => `test/workers/${name}.test.ts`);

  expect(files.filter((path) => !existsSync(join(import.meta.dirname, '../..', path)))).toEqual([]);
  // All presets share one test.
  expect(Object.keys(vendors).sort()).toEqual([...presetTypes].sort());
});

test('the default data of the editor is valid for each node kind', () => {
  for (const { kind, config, defaultValue } of nodes)
    expect(config.safeParse(defaultValue).error, kind).toBeUndefined();
});

test.each(datasources.map((definition) => [definition.type, definition as DatasourceDefinition] as const))(
  'the default data of the editor is valid for %s datasources and queries',
  (_type, { options, query, defaults, templates }) => {
    expect(options.safeParse(defaults.options).error).toBeUndefined();
    expect(query.safeParse(defaults.query).error).toBeUndefined();
    const schema = z.toJSONSchema(query, { io: 'input', unrepresentable: 'any' }) as {
      properties?: object;
      oneOf?: { properties: object }[];
    };
    const fields = [schema, ...(schema.oneOf ?? [])].flatMap(({ properties = {} }) => Object.keys(properties));
    expect(fields).toEqual(expect.arrayContaining(Object.keys(templates)));
    // Both are fields of `dataQueryOptions`.
    expect(fields.filter((name) => Object.hasOwn(QueryOptions.shape, name))).toEqual([]);
  },
);
