import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { newID } from '#shared/core/ids.ts';
import { type AnyNode, findNodeKind, nodes } from '#shared/workflow/nodes/index.ts';
import { fieldsNaming, namedAssets } from '#shared/workflow/nodes/named-assets.ts';

interface Schema {
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

/** The paths at which a schema takes an id: by its format, or by the name of the field. */
function idPaths(schema: z.ZodType): string[] {
  // JSON Schema allows more than this, but zod writes no more for schemas with ids.
  return [...new Set(pathsIn(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema, ''))];
}

function pathsIn(schema: Schema, path: string): string[] {
  const { properties = {}, items, additionalProperties: more, anyOf = [], oneOf = [], allOf = [] } = schema;
  const below = (key: string) => (path === '' ? key : `${path}.${key}`);
  return [
    ...(schema.format === 'uuid' || /ID$|IDs\.\*$/.test(path) ? [path] : []),
    ...[...anyOf, ...oneOf, ...allOf].flatMap((option) => pathsIn(option, path)),
    ...Object.entries(properties).flatMap(([key, child]) => pathsIn(child, below(key))),
    ...(items ? pathsIn(items, below('*')) : []),
    ...(typeof more === 'object' ? pathsIn(more, below('{}')) : []),
  ];
}

test('finds ids at every place of a schema', () => {
  const schema = z.object({
    workflowID: z.string(),
    query: z.uuid().optional(),
    folderIDs: z.array(z.string()),
    calls: z.array(z.union([z.string(), z.object({ dataQueryID: z.uuid() })])),
    byName: z.record(z.string(), z.uuid()),
  });
  expect(idPaths(schema)).toEqual(['workflowID', 'query', 'folderIDs.*', 'calls.*.dataQueryID', 'byName.{}']);
});

test.each(nodes.map(({ kind, config, names }) => [kind, config, names] as const))(
  '%s declares every asset that its config names, and no other',
  (_kind, config, names) => {
    expect(Object.keys(names).sort()).toEqual(idPaths(config).sort());
  },
);

test.each(nodes.map((definition) => [definition.kind, definition] as const))(
  '%s gives its executor ids in the form of rows and rules',
  (_kind, definition) => {
    const id = newID();
    const written = JSON.stringify(definition.defaultValue).replaceAll(placeholder, id.toUpperCase());
    const config = definition.config.parse(JSON.parse(written));

    expect(JSON.stringify(config)).not.toContain(id.toUpperCase());
    expect(namedAssets(definition, config)).toHaveLength(written.split(id.toUpperCase()).length - 1);
  },
);

const placeholder = '00000000-0000-4000-8000-000000000000';

function kind(name: string): AnyNode {
  return findNodeKind(name) ?? expect.fail(name);
}

describe('the assets that a config names', () => {
  const id = newID();

  test('are listed with the permissions they need', () => {
    expect(namedAssets(kind('dataQuery'), { dataQueryID: id })).toEqual([
      { type: 'dataquery', id, path: ['dataQueryID'], permission: 'dataquery.execute', neededBy: 'author' },
    ]);
    expect(namedAssets(kind('subWorkflow'), { childWorkflowID: id })).toEqual([
      { type: 'workflow', id, path: ['childWorkflowID'], permission: 'workflow.execute', neededBy: 'caller' },
    ]);
  });

  test('are in the form of rows', () => {
    expect(namedAssets(kind('dataQuery'), { dataQueryID: id.toUpperCase() })).toMatchObject([{ id }]);
  });

  test('are unknown where a template is, and where there is no id', () => {
    for (const dataQueryID of ['{{ctx.input.id}}', `${id}{{ctx.x}}`, '', null, 7, [id], { id }])
      expect(namedAssets(kind('dataQuery'), { dataQueryID })).toEqual([]);
    for (const config of [{}, null, undefined, 'text', [id]])
      expect(namedAssets(kind('dataQuery'), config)).toEqual([]);
    expect(namedAssets(kind('start'), { dataQueryID: id })).toEqual([]);
  });
});

test('have fields that are found by the type of asset', () => {
  expect(fieldsNaming('dataquery')).toEqual([{ kind: 'dataQuery', keys: ['dataQueryID'] }]);
  expect(fieldsNaming('workflow')).toEqual([{ kind: 'subWorkflow', keys: ['childWorkflowID'] }]);
});
