/** The types that ids in schemas name, by `x-reference`. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { routeGroups, routes } from '#api/app/routes.ts';
import { typeOfResource } from '#api/bundles/assets/references.ts';
import { describeRoutes } from '#api/http/openapi/describe-routes.ts';
import type { Schema } from '#api/http/openapi/types.ts';
import { boundTypes } from '#api/pages/bindings.ts';
import { splitPermission } from '#shared/access/policy/permissions.ts';
import { idOf, referring } from '#shared/core/schema/reference.ts';
import { actions } from '#shared/triggers/listeners/actions.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';

const REFERENCE = 'x-reference';
const INPUTS_OF = 'x-inputs-of';

/** The answers with the forms of all kinds of assets, which these routes make from contracts alone. */
const forms = await Promise.all(
  routes
    .filter(({ path }) => /\/schemas$/.test(path) && !/\/database\/schemas$/.test(path))
    .map((route) => (route as unknown as { handle(input: object): Promise<unknown> }).handle({ query: {} })),
);

/** Ids that clients send and that name no type, each with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'AssetPermissionCreate.resourceID': 'of the type in `resourceType`',
  'FolderMove.entityIDs': 'of the type in `entityType`',
  'ExportedAsset.id': 'of the type in `type`',
  'WidgetItem.id': 'no asset: tells the items of a bundle of widgets apart',
  'BundleItem.id': 'a key of a bundle, which is no id of the tenant',
  'BundleSecret.id': 'a key of a bundle',
  'BundleApply.ids': 'keys of a bundle, of any type, and the ids that stand for them',
  'BundleImportCreate.ids': 'keys of a bundle, of any type, and the ids that stand for them',
  'ImportJobCreate.ids': 'keys of a bundle, of any type, and the ids that stand for them',
  'query.assetID': 'of the type in `assetType`, or of any',
  'query.cursor': 'a place in a list',
};

test('an id that clients send says what it names, or is an exception', () => {
  const document = describeRoutes(routeGroups);
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const sent = operations.flatMap(({ requestBody, parameters = [] }) => [
    ...Object.values(requestBody?.content ?? {}).map(({ schema }) => ['a body', schema] as const),
    ...parameters.flatMap((one) => ('schema' in one ? [[`${one.in}.${one.name}`, one.schema] as const] : [])),
  ]);
  // A `Map` also iterates over what is added to it on the way.
  const all = new Map<string, Schema>(sent.map(([name, schema]) => [`${name} ${JSON.stringify(schema)}`, schema]));
  for (const schema of all.values())
    for (const [, name = ''] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g))
      all.set(name, document.components.schemas[name] ?? {});
  const unsaid = [...all].flatMap(([name, schema]) => [...idsWithout(schema, name.split(' ', 1))]);

  expect(all.size).toBeGreaterThan(200);
  expect([...new Set(unsaid)].sort()).toEqual(Object.keys(EXCEPTIONS).sort());
});

/** Paths of ids that name no type. */
function* idsWithout(value: unknown, path: readonly string[]): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  if ('format' in value && value.format === 'uuid' && !(REFERENCE in value)) yield path.join('.');
  const isList = Array.isArray(value);
  for (const [key, part] of Object.entries(value))
    yield* idsWithout(part, isList || KEYWORDS.has(key) ? path : [...path, key]);
}

/** Keywords of JSON Schema whose names are no names of fields. */
const KEYWORDS: ReadonlySet<string> = new Set(
  'properties items anyOf oneOf allOf additionalProperties propertyNames prefixItems'.split(' '),
);

test('an id in a served form says what it names', () => {
  const ids = forms.flatMap((answer) => [...schemasIn(answer)]).filter(({ format }) => format === 'uuid');

  expect(ids.length).toBeGreaterThan(40);
  expect(ids.filter((schema) => !(REFERENCE in schema))).toEqual([]);
});

function* schemasIn(value: unknown): Generator<Schema> {
  if (typeof value !== 'object' || value === null) return;
  yield value as Schema;
  for (const part of Object.values(value)) yield* schemasIn(part);
}

test('schemas name the types that permissions are asked for, and bundles follow', () => {
  const typeOf = (permission: string) => typeOfResource[splitPermission(permission)[0] as keyof typeof typeOfResource];
  const byNodes = nodes.flatMap(({ kind, config, names }) =>
    Object.entries(names as Record<string, { permission: string }>).map(([path, { permission }]) => [
      `${kind}.${path}`,
      typeOf(permission),
      referenceAt(config, path.split('.')),
    ]),
  );
  const byActions = actions.flatMap(({ type, config, ...action }) => {
    const { field, resource } = {
      ...('names' in action && action.names),
      ...('mentions' in action && action.mentions),
    };
    return field && resource ? [[`${type}.${field}`, typeOfResource[resource], referenceAt(config, [field])]] : [];
  });
  const pages = describeRoutes(routeGroups).components.schemas.AppPageDataSource;
  const byPages = Object.values(boundTypes).map(({ field, resource }) => [
    field,
    typeOfResource[resource],
    [...schemasIn(pages?.properties?.[field])].find((schema) => schema.format === 'uuid')?.[REFERENCE],
  ]);
  const all = [...byNodes, ...byActions, ...byPages];

  expect(all.length).toBeGreaterThanOrEqual(8);
  expect(all.filter(([, wanted, said]) => wanted === undefined || wanted !== said)).toEqual([]);
});

function referenceAt(config: z.ZodType, path: readonly string[]): unknown {
  const schema = z.toJSONSchema(config, { io: 'input', unrepresentable: 'any' }) as Schema;
  return path.reduce<Schema | undefined>((at, key) => (key === '*' ? at?.items : at?.properties?.[key]), schema)?.[
    REFERENCE
  ];
}

test('a field with inputs leads to a query or a workflow beside it', () => {
  const found = forms.flatMap((answer) =>
    [...schemasIn(answer)].flatMap(({ properties = {} }) =>
      Object.entries(properties).flatMap(([name, { [INPUTS_OF]: of }]) =>
        of === undefined ? [] : [[name, of, properties[String(of)]?.[REFERENCE]]],
      ),
    ),
  );

  expect(found).toContainEqual(['inputMapping', 'childWorkflowID', 'workflow']);
  expect(found.filter(([, , type]) => type !== 'workflow' && type !== 'dataQuery')).toEqual([]);
});

test('the type of an id survives wrapping and describing', () => {
  const shape = z.object({
    one: idOf('role').describe('One').nullish(),
    several: referring(z.array(z.string()), 'user', 'role').optional().meta({ title: 'Several' }),
  });
  const { properties = {} } = z.toJSONSchema(shape, { io: 'input' }) as Schema;

  expect([...schemasIn(properties.one)].some((schema) => schema[REFERENCE] === 'role')).toBe(true);
  expect(properties.several).toMatchObject({ title: 'Several', [REFERENCE]: ['user', 'role'] });
  expect(idOf('role').parse('01990D3E-5C00-7A10-8000-000000000001')).toBe('01990d3e-5c00-7a10-8000-000000000001');
});
